import { basename, join } from "node:path";
import type { Clock, Timer } from "../../lib/clock.ts";
import { ConflictError, UpstreamError } from "../../lib/errors.ts";
import type { Events } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import type { Settings } from "../../settings/schema.ts";
import type { Store } from "../../store/store.ts";
import { readOperationState, writeOperationState } from "../operation-state.ts";
import type { BackupReport } from "./backup-archive.ts";
import { type BackupFileInfo, listBackups, pruneBackups, removeLeftovers, takeBackup } from "./take-backup.ts";

/** Calls `work` at the times of a cron expression until the function returned is called; throws for one that is none. */
export type ScheduleJob = (expression: string, work: () => void) => () => void;

/** What backups are taken with. */
export interface BackupSchedulerDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  dataDir: string;
  version: string;
  settings: Settings["backups"];
  schedule: ScheduleJob;
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
export interface BackupScheduler {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Takes one now into `folder` (the usual one unless given). Throws ConflictError while another is taken, else as `takeBackup`. */
  take(folder?: string): Promise<BackupReport>;
  /** What there is of them. */
  report(): Promise<BackupsReport>;
  /** What is wrong with the backups. */
  healthReasons(): { level: "yellow"; code: string; reason: string }[];
}

/** What there is of backups. */
export interface BackupsReport extends Pick<BackupState, "good" | "failed"> {
  folder: string;
  /** Cron expression; null = never by itself. */
  schedule: string | null;
  /** Those in the folder, the newest first. */
  files: BackupFileInfo[];
}

const STATE_KEY = "backups";
/** A night may be missed by an hour, since clocks are changed. own choice */
const MAX_BACKUP_AGE_MS = 26 * 3_600_000;
/** After a start without a good backup of the last day; nobody should wait for the start because of it. own choice */
const CATCH_UP_DELAY_MS = 10 * 60_000;

/** Makes the backups; nothing is taken before `start`. */
export function createBackupScheduler(needs: BackupSchedulerDeps): BackupScheduler {
  const { store, clock, events, log, dataDir, version, settings } = needs;
  const defaultFolder = settings.folder ?? join(dataDir, "backups");
  const shutdown = new AbortController();
  let state: BackupState = { since: clock.now(), good: null, failed: null };
  let taking: Promise<BackupReport> | null = null;
  let planned: { expression: string; cancel(): void } | null = null;
  let unsubscribe = (): void => {};
  let later: Timer | null = null;

  async function saveState(change: Partial<BackupState>): Promise<void> {
    state = { ...state, ...change };
    await store.write((tx) => writeOperationState(tx, STATE_KEY, state));
  }

  async function run(folder: string): Promise<BackupReport> {
    const began = clock.monotonicMs();
    const now = clock.now();
    try {
      const report = await takeBackup(folder, { store, dataDir, version, now, signal: shutdown.signal });
      if (report.faults.length > 0) throw new UpstreamError("upstream", report.faults.join("; "));
      await saveState({ good: { at: now, file: report.path, bytes: report.bytes }, failed: null });
      await pruneBackups(folder, { days: settings.keepDays, weeks: settings.keepWeeks });
      log.info(
        { file: report.path, bytes: report.bytes, ms: Math.round(clock.monotonicMs() - began) },
        "backup proven",
      );
      return report;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ err: error }, "backup failed");
      if (!shutdown.signal.aborted) await saveState({ failed: { at: now, reason } }).catch(() => undefined);
      throw error;
    }
  }

  function take(folder = defaultFolder): Promise<BackupReport> {
    if (taking !== null) return Promise.reject(new ConflictError("A backup is being taken already."));
    taking = run(folder).finally(() => {
      taking = null;
    });
    return taking;
  }

  /** The failure is told by the log and the health. */
  const takeScheduled = (): void => void take().catch(() => undefined);

  function reschedule(): void {
    const config = store.get(endpoints, needs.endpointId())?.config as { backupSchedule?: unknown } | null | undefined;
    const own = config?.backupSchedule;
    const expression = typeof own === "string" && own !== "" ? own : settings.schedule;
    if (planned?.expression === (expression ?? "")) return;
    planned?.cancel();
    planned = { expression: expression ?? "", cancel: () => undefined };
    if (expression === null) return;
    try {
      planned.cancel = needs.schedule(expression, takeScheduled);
    } catch (error) {
      log.error({ err: error, expression }, "no schedule of backups");
    }
  }

  return {
    take,
    async report() {
      const { good, failed } = state;
      return {
        folder: defaultFolder,
        schedule: planned?.expression || null,
        good,
        failed,
        files: await listBackups(defaultFolder),
      };
    },
    async start() {
      const known = readOperationState<BackupState>(store, STATE_KEY);
      if (known) state = known;
      else await saveState({});
      await removeLeftovers(defaultFolder);
      reschedule();
      unsubscribe = events.on("row.changed", ({ resource }) => {
        if (resource === "endpoints") reschedule();
      });
      later = clock.after(
        CATCH_UP_DELAY_MS,
        () => {
          const last = state.good?.at ?? state.since;
          if (planned?.expression !== "" && clock.now() - last > MAX_BACKUP_AGE_MS && !taking) takeScheduled();
        },
        { background: true },
      );
    },
    async stop() {
      unsubscribe();
      later?.cancel();
      planned?.cancel();
      shutdown.abort();
      await taking?.catch(() => undefined);
    },
    healthReasons() {
      const { good, failed, since } = state;
      const day = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");
      if (failed)
        return [
          { level: "yellow", code: "backups", reason: `The backup of ${day(failed.at)} UTC failed: ${failed.reason}` },
        ];
      if (planned?.expression === "" || clock.now() - (good?.at ?? since) <= MAX_BACKUP_AGE_MS) return [];
      const last = good ? `The last good one is ${basename(good.file)}.` : "There is none yet.";
      return [{ level: "yellow", code: "backups", reason: `No backup was taken for more than a day. ${last}` }];
    },
  };
}
