import type { Command, OrderKind } from "../frames.ts";
import type { Body, WorkStore } from "../work.ts";
import type { Journal } from "./activities.ts";
import { askForAll } from "./inbox.ts";
import { linkState } from "./link-state.ts";
import { forgetArrived, MOST_OUT_BYTES } from "./outbox.ts";
import { beginIncarnation } from "./welcome.ts";

/** Orders that the link itself carries out. */
export type OwnOrder = Extract<OrderKind, "full-resync" | "replication-queue-reset" | "replication-clean-up">;

const OWN: ReadonlySet<string> = new Set<OwnOrder>(["full-resync", "replication-queue-reset", "replication-clean-up"]);

/** Whether the link itself carries a command out. */
export function isOwnOrder(command: Command): command is Command & { kind: OwnOrder } {
  return OWN.has(command.kind);
}

/** What carrying them out needs. */
export interface OwnOrderNeeds {
  store: WorkStore;
  journal: Journal;
  /** As it was heard; epoch ms, null when it was not. */
  cloudTime: number | null;
  /** Between two steps: what is urgent does not wait for all of them. */
  giveWay(): Promise<void>;
}

/**
 * Carries such an order out. Returns what is to be told of it; null for those that end with the mark of a resync, which
 * begins with the next connection.
 */
export async function doOwnOrder(kind: OwnOrder, needs: OwnOrderNeeds): Promise<Body | null> {
  if (kind === "replication-clean-up") return await cleanUp(needs);
  const { store, journal } = needs;
  await store.transact(function* () {
    if (kind === "replication-queue-reset") yield* beginIncarnation((yield* linkState()).inc, journal);
    yield* askForAll();
  });
  return null;
}

/** Forgets all that is not needed any more, at once. */
async function cleanUp({ store, cloudTime, giveWay }: OwnOrderNeeds): Promise<Body> {
  const before = await store.read(linkState);
  for (const lane of ["bulk", "hot"] as const) {
    while (await store.transact(() => forgetArrived(lane, cloudTime, MOST_OUT_BYTES))) await giveWay();
  }
  const after = await store.read(linkState);
  const freedBytes = before.outBytes - after.outBytes;
  return { freedBytes };
}
