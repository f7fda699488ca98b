import { basename, join } from "node:path";
import type { Clock, Timer } from "../base/clock.ts";
import { ConflictError, UpstreamError } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { Settings } from "../settings/schema.ts";
import type { Store } from "../store/store.ts";
import type { BackupReport } from "./backup-archive.ts";
import { readMark, writeMark } from "./marks.ts";
import { type BackupInFolder, backupsIn, clearLeftOvers, takeBackup, thinOut } from "./take-backup.ts";

/** Calls `work` at the times of a cron expression until the function returned is called; throws for one that is none. */
export type Schedule = (expression: string, work: () => void) => () => void;

/** What backups are taken with. */
export interface BackupNeeds {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  dataDir: string;
  version: string;
  settings: Settings["backups"];
  schedule: Schedule;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** What was last tried and what last succeeded. */
interface BackupState {
  /** Epoch ms of the first start with this watch. */
  since: number;
  good: { at: number; file: string; bytes: number } | null;
  failed: { at: number; reason: string } | null;
}

/** Takes backups by the clock and when asked. */
export interface Backups {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Takes one now into `folder` (the usual one unless given). Throws ConflictError while another is taken, else as `takeBackup`. */
  take(folder?: string): Promise<BackupReport>;
  /** What there is of them. */
  report(): Promise<BackupsReport>;
  /** What is wrong with the backups. */
  source(): { level: "yellow"; code: string; reason: string }[];
}

/** What there is of backups. */
export interface BackupsReport extends Pick<BackupState, "good" | "failed"> {
  folder: string;
  /** Cron expression; null = never by itself. */
  schedule: string | null;
  /** Those in the folder, the newest first. */
  files: BackupInFolder[];
}

const MARK = "backups";
/** A night may be missed by an hour, since clocks are changed. own choice */
const TOO_OLD_MS = 26 * 3_600_000;
/** After a start without a good backup of the last day; nobody should wait for the start because of it. own choice */
const CATCH_UP_MS = 10 * 60_000;

/** Makes the backups; nothing is taken before `start`. */
export function createBackups(needs: BackupNeeds): Backups {
  const { store, clock, events, log, dataDir, version, settings } = needs;
  const usual = settings.folder ?? join(dataDir, "backups");
  const ending = new AbortController();
  let state: BackupState = { since: clock.now(), good: null, failed: null };
  let taking: Promise<BackupReport> | null = null;
  let planned: { expression: string; cancel(): void } | null = null;
  let unsubscribe = (): void => {};
  let later: Timer | null = null;

  async function remember(change: Partial<BackupState>): Promise<void> {
    state = { ...state, ...change };
    await store.write((tx) => writeMark(tx, MARK, state));
  }

  async function run(folder: string): Promise<BackupReport> {
    const began = clock.monotonicMs();
    const now = clock.now();
    try {
      const report = await takeBackup(folder, { store, dataDir, version, now, signal: ending.signal });
      if (report.faults.length > 0) throw new UpstreamError("upstream", report.faults.join("; "));
      await remember({ good: { at: now, file: report.path, bytes: report.bytes }, failed: null });
      await thinOut(folder, { days: settings.keepDays, weeks: settings.keepWeeks });
      log.info(
        { file: report.path, bytes: report.bytes, ms: Math.round(clock.monotonicMs() - began) },
        "backup proven",
      );
      return report;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ err: error }, "backup failed");
      if (!ending.signal.aborted) await remember({ failed: { at: now, reason } }).catch(() => undefined);
      throw error;
    }
  }

  function take(folder = usual): Promise<BackupReport> {
    if (taking !== null) return Promise.reject(new ConflictError("A backup is being taken already."));
    taking = run(folder).finally(() => {
      taking = null;
    });
    return taking;
  }

  /** The failure is told by the log and the health. */
  const takeByItself = (): void => void take().catch(() => undefined);

  function plan(): void {
    const config = store.get(endpoints, needs.endpointId())?.config as { backupSchedule?: unknown } | null | undefined;
    const own = config?.backupSchedule;
    const expression = typeof own === "string" && own !== "" ? own : settings.schedule;
    if (planned?.expression === (expression ?? "")) return;
    planned?.cancel();
    planned = { expression: expression ?? "", cancel: () => undefined };
    if (expression === null) return;
    try {
      planned.cancel = needs.schedule(expression, takeByItself);
    } catch (error) {
      log.error({ err: error, expression }, "no schedule of backups");
    }
  }

  return {
    take,
    async report() {
      const { good, failed } = state;
      return { folder: usual, schedule: planned?.expression || null, good, failed, files: await backupsIn(usual) };
    },
    async start() {
      const known = readMark<BackupState>(store, MARK);
      if (known) state = known;
      else await remember({});
      await clearLeftOvers(usual);
      plan();
      unsubscribe = events.on("row.changed", ({ resource }) => {
        if (resource === "endpoints") plan();
      });
      later = clock.after(
        CATCH_UP_MS,
        () => {
          const last = state.good?.at ?? state.since;
          if (planned?.expression !== "" && clock.now() - last > TOO_OLD_MS && !taking) takeByItself();
        },
        { background: true },
      );
    },
    async stop() {
      unsubscribe();
      later?.cancel();
      planned?.cancel();
      ending.abort();
      await taking?.catch(() => undefined);
    },
    source() {
      const { good, failed, since } = state;
      const day = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");
      if (failed)
        return [
          { level: "yellow", code: "backups", reason: `The backup of ${day(failed.at)} UTC failed: ${failed.reason}` },
        ];
      if (planned?.expression === "" || clock.now() - (good?.at ?? since) <= TOO_OLD_MS) return [];
      const last = good ? `The last good one is ${basename(good.file)}.` : "There is none yet.";
      return [{ level: "yellow", code: "backups", reason: `No backup was taken for more than a day. ${last}` }];
    },
  };
}
