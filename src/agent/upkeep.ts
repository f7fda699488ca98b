import type { Clock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import type { Appliance } from "./appliance.ts";
import type { PlanKeeper } from "./plan-keeper.ts";
import type { RingBook, SoundedRing } from "./ring-book.ts";
import type { Membership } from "./state-folder.ts";

/** What keeping up needs. */
export interface UpkeepNeeds {
  clock: Pick<Clock, "monotonicMs">;
  appliance: Pick<Appliance, "plan" | "sound" | "rang">;
  membership: Membership;
  keeper: Pick<PlanKeeper, "refresh" | "held">;
  book: Pick<RingBook, "untold" | "told">;
  /** Epoch ms of the appliance. */
  now(): number | null;
  signal: AbortSignal;
  /** Another plan is in order. */
  onChange(): void;
  log(words: string): void;
}

/** How often the plan of rings is looked for, and how soon again when that went wrong. own choice */
const PLAN_EVERY_MS = 120_000;
const TRY_AGAIN_MS = 15_000;
/** As many as the appliance takes at once. */
const MOST_TOLD = 500;

/** Gives what is to be called whenever the appliance has answered: it tells what sounded alone, and fetches the plan when it is time to. */
export function createUpkeep(needs: UpkeepNeeds): () => void {
  const { clock, keeper, book, signal, log } = needs;
  let lookAt = Number.NEGATIVE_INFINITY;
  let isUnderWay = false;
  let fault = "";

  const talk = async (): Promise<void> => {
    const rings = book.untold().slice(0, MOST_TOLD);
    if (rings.length > 0) {
      await tell(rings, needs);
      await book.told(rings);
    }
    const time = needs.now();
    if (time === null || clock.monotonicMs() < lookAt) return;
    lookAt = clock.monotonicMs() + TRY_AGAIN_MS;
    const before = keeper.held;
    await keeper.refresh(time);
    if (keeper.held.until !== before.until || before.inOrderAt === null) needs.onChange();
    lookAt = clock.monotonicMs() + PLAN_EVERY_MS;
    fault = "";
  };

  return () => {
    if (isUnderWay) return;
    isUnderWay = true;
    talk()
      .catch((error: unknown) => {
        const words = error instanceof Error ? error.message : String(error);
        if (!signal.aborted && words !== fault) log(`the plan of rings: ${words}`);
        fault = words;
      })
      .finally(() => {
        isUnderWay = false;
      });
  };
}

/** What the appliance refuses it refuses for good. */
async function tell(rings: readonly SoundedRing[], { appliance, membership, log }: UpkeepNeeds): Promise<void> {
  const played = rings.map(({ ringId, at }) => ({ ringId, at }));
  try {
    await appliance.rang(membership, played);
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    log(`the appliance does not take what was played without it: ${error.message}`);
  }
}
