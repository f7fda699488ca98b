import type { Clock, Timer } from "../base/clock.ts";
import { notFound } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Sync } from "../store/store.ts";
import { type Circle, readCircles } from "./circles.ts";
import { type FiringNeeds, takeActions } from "./firings.ts";
import { type PositionReport, takeReport } from "./reports.ts";
import { reviewAreas } from "./reviews.ts";

/** What areas are watched with. */
export interface AreaNeeds extends FiringNeeds {
  clock: Clock;
  events: Events;
}

/** Where people are, and what follows when they come and go. */
export interface Areas {
  /** Takes up what an earlier run left, then follows what is written. */
  start(): void;
  stop(): Promise<void>;
  /** Takes the report of a user's device, which is returned; resolves after COMMIT. Throws not-found. */
  report(userId: string, deviceId: string, report: PositionReport): Promise<RowOf<typeof userDevices>>;
}

/** Coordinates that are as old are forgotten: an area that is drawn later is not compared with them. own choice */
const KEPT_MS = 24 * 3_600_000;
const FORGET_EVERY_MS = 10 * 60_000;
const FORGOTTEN_AT_ONCE = 1_000;

/** Makes the watch over areas. */
export function createAreas(needs: AreaNeeds): Areas {
  const { store, clock, events, log, by } = needs;
  const ending = new AbortController();
  const acting = createTurn(() => takeActions(needs, ending.signal));
  const reviewing = createTurn(() => reviewAreas(needs, ending.signal));
  const forgetting = createTurn(() => forgetCoordinates(needs, ending.signal));
  /** As of the last commit that changed an area: what a report met of a newer one is reviewed after that commit. */
  let circles: readonly Circle[] | null = null;
  const stopListening = [
    events.on("row.changed", ({ resource }) => {
      if (resource === areasOfInterest.name) circles = null;
    }),
  ];
  let timer: Timer | null = null;

  /** Does something again and again while it is asked for, never twice at a time. */
  function createTurn(work: () => Promise<void>): { wake(): void; idle(): Promise<void> } {
    let running: Promise<void> | null = null;
    let asked = false;
    const run = async (): Promise<void> => {
      while (asked && !ending.signal.aborted) {
        asked = false;
        await work().catch((error: unknown) => log.error({ err: error }, "watching areas failed"));
      }
      running = null;
    };
    return {
      wake() {
        asked = true;
        running ??= run();
      },
      idle: async () => void (await running),
    };
  }

  return {
    start() {
      stopListening.push(events.on("boundary.crossed", acting.wake), events.on("area.redrawn", reviewing.wake));
      timer = clock.every(FORGET_EVERY_MS, forgetting.wake);
      for (const turn of [reviewing, acting, forgetting]) turn.wake();
    },
    async stop() {
      for (const off of stopListening) off();
      timer?.cancel();
      ending.abort();
      await Promise.all([acting.idle(), reviewing.idle(), forgetting.idle()]);
    },
    async report(userId, deviceId, report) {
      return store.write((tx) => {
        const device = tx.get(userDevices, deviceId);
        if (device?.userId !== userId) throw notFound();
        circles ??= readCircles(tx);
        return takeReport(tx, device, report, { now: clock.now(), by, circles }) as Sync<RowOf<typeof userDevices>>;
      });
    },
  };
}

async function forgetCoordinates({ store, clock }: AreaNeeds, signal: AbortSignal): Promise<void> {
  for (let more = true; more && !signal.aborted; ) {
    const { changes } = await store.write((tx) =>
      tx.run(
        `UPDATE area_positions SET latitude = NULL, longitude = NULL WHERE device IN
           (SELECT device FROM area_positions WHERE latitude IS NOT NULL AND received < ? LIMIT ${FORGOTTEN_AT_ONCE})`,
        clock.now() - KEPT_MS,
      ),
    );
    more = changes === FORGOTTEN_AT_ONCE;
  }
}
