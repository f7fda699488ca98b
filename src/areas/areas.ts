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

export interface AreaDeps extends TriggerActionDeps {
  clock: Clock;
  events: Events;
}

/** Tracks which devices are inside which areas and fires boundary triggers. */
export interface Areas {
  /** Resumes pending work, then follows writes. */
  start(): void;
  stop(): Promise<void>;
  /** Applies a position report and returns the device; resolves after COMMIT. Throws not-found. */
  reportPosition(userId: string, deviceId: string, report: PositionReport): Promise<RowOf<typeof userDevices>>;
}

/** Retention of coordinates; an area created later is not compared with older ones. @source docs/decisions/0202-areas-of-interest.md */
const COORDINATE_RETENTION_MS = 24 * 3_600_000;
const PURGE_INTERVAL_MS = 10 * 60_000;
const PURGE_CHUNK_SIZE = 1_000;

export function createAreas(deps: AreaDeps): Areas {
  const { store, clock, events, log, by } = deps;
  const abortController = new AbortController();
  const actionWorker = createCoalescingWorker(() => runPendingTriggerActions(deps, abortController.signal));
  const recheckWorker = createCoalescingWorker(() => recheckAreas(deps, abortController.signal));
  const purgeWorker = createCoalescingWorker(() => purgeCoordinates(deps, abortController.signal));
  /** Areas as of the last commit; a report that used an outdated area is rechecked after that commit. */
  let circles: readonly AreaCircle[] | null = null;
  const stopListening = [
    events.on("row.changed", ({ resource }) => {
      if (resource === areasOfInterest.name) circles = null;
    }),
  ];
  let timer: Timer | null = null;

  /** Runs work while it is requested, never twice at a time. */
  function createCoalescingWorker(work: () => Promise<void>): { wake(): void; idle(): Promise<void> } {
    let running: Promise<void> | null = null;
    let isRequested = false;
    const run = async (): Promise<void> => {
      while (isRequested && !abortController.signal.aborted) {
        isRequested = false;
        await work().catch((error: unknown) => log.error({ event: "area.worker_failed", err: error }, "area worker failed"));
      }
      running = null;
    };
    return {
      wake() {
        isRequested = true;
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
