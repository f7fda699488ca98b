import type { Clock, Timer } from "../lib/clock.ts";
import { notFound } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Sync } from "../store/store.ts";
import { type AreaCircle, loadAreaCircles } from "./area-geometry.ts";
import { recheckAreas } from "./area-recheck.ts";
import { applyPositionReport, type PositionReport } from "./position-reports.ts";
import { runPendingTriggerActions, type TriggerActionDeps } from "./trigger-actions.ts";

/** What areas are watched with. */
export interface AreaDeps extends TriggerActionDeps {
  clock: Clock;
  events: Events;
}

/** Where people are, and what follows when they come and go. */
export interface Areas {
  /** Takes up what an earlier run left, then follows what is written. */
  start(): void;
  stop(): Promise<void>;
  /** Takes the report of a user's device, which is returned; resolves after COMMIT. Throws not-found. */
  reportPosition(userId: string, deviceId: string, report: PositionReport): Promise<RowOf<typeof userDevices>>;
}

/** Coordinates that are as old are forgotten: an area that is drawn later is not compared with them. own choice */
const COORDINATE_RETENTION_MS = 24 * 3_600_000;
const PURGE_INTERVAL_MS = 10 * 60_000;
const PURGE_CHUNK_SIZE = 1_000;

/** Makes the watch over areas. */
export function createAreas(needs: AreaDeps): Areas {
  const { store, clock, events, log, by } = needs;
  const abortController = new AbortController();
  const actionWorker = createCoalescingWorker(() => runPendingTriggerActions(needs, abortController.signal));
  const recheckWorker = createCoalescingWorker(() => recheckAreas(needs, abortController.signal));
  const purgeWorker = createCoalescingWorker(() => purgeCoordinates(needs, abortController.signal));
  /** As of the last commit that changed an area: what a report met of a newer one is reviewed after that commit. */
  let circles: readonly AreaCircle[] | null = null;
  const stopListening = [
    events.on("row.changed", ({ resource }) => {
      if (resource === areasOfInterest.name) circles = null;
    }),
  ];
  let timer: Timer | null = null;

  /** Does something again and again while it is asked for, never twice at a time. */
  function createCoalescingWorker(work: () => Promise<void>): { wake(): void; idle(): Promise<void> } {
    let running: Promise<void> | null = null;
    let asked = false;
    const run = async (): Promise<void> => {
      while (asked && !abortController.signal.aborted) {
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
      stopListening.push(
        events.on("boundary.crossed", actionWorker.wake),
        events.on("area.geometry-changed", recheckWorker.wake),
      );
      timer = clock.every(PURGE_INTERVAL_MS, purgeWorker.wake);
      for (const turn of [recheckWorker, actionWorker, purgeWorker]) turn.wake();
    },
    async stop() {
      for (const off of stopListening) off();
      timer?.cancel();
      abortController.abort();
      await Promise.all([actionWorker.idle(), recheckWorker.idle(), purgeWorker.idle()]);
    },
    async reportPosition(userId, deviceId, report) {
      return store.write((tx) => {
        const device = tx.get(userDevices, deviceId);
        if (device?.userId !== userId) throw notFound();
        circles ??= loadAreaCircles(tx);
        return applyPositionReport(tx, device, report, { now: clock.now(), by, circles }) as Sync<
          RowOf<typeof userDevices>
        >;
      });
    },
  };
}

async function purgeCoordinates({ store, clock }: AreaDeps, signal: AbortSignal): Promise<void> {
  for (let more = true; more && !signal.aborted; ) {
    const { changes } = await store.write((tx) =>
      tx.run(
        `UPDATE area_positions SET latitude = NULL, longitude = NULL WHERE device IN
           (SELECT device FROM area_positions WHERE latitude IS NOT NULL AND received < ? LIMIT ${PURGE_CHUNK_SIZE})`,
        clock.now() - COORDINATE_RETENTION_MS,
      ),
    );
    more = changes === PURGE_CHUNK_SIZE;
  }
}
