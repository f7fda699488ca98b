import { basename, join } from "node:path";
import type { Clock, Timer } from "../../lib/clock.ts";
import { ConflictError, UpstreamError } from "../../lib/errors.ts";
import type { Events } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import type { Settings } from "../../settings/schema.ts";
import type { Store } from "../../store/store.ts";
import { readOperationState, writeOperationState } from "../operation-state.ts";
import type { BackupReport } from "./backup-archive.ts";
import { type BackupFileInfo, listBackups, pruneBackups, removeLeftovers, takeBackup } from "./take-backup.ts";

/** Calls `work` at the times of a cron expression until the returned function is called; throws for an invalid expression. */
export type ScheduleJob = (expression: string, work: () => void) => () => void;

export interface BackupSchedulerDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  dataDir: string;
  version: string;
  settings: Settings["backups"];
  schedule: ScheduleJob;
  /** Offset of the site's time zone from UTC at an instant, in ms. */
  offsetAt(at: number): number;
  /** Id of this appliance's endpoint. */
  endpointId(): string;
}

/** Last success and last failure. */
interface BackupState {
  /** Epoch ms of the first start of the scheduler. */
  since: number;
  good: { at: number; file: string; bytes: number } | null;
  failed: { at: number; reason: string } | null;
}

/** Takes backups on a schedule and on request. */
export interface BackupScheduler {
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Takes a backup into `folder` (default: the configured one), which nothing deletes; a scheduled one makes way for later ones
   * of that folder. Throws ConflictError while another one runs, else like `takeBackup`.
   */
  take(folder?: string, isScheduled?: boolean): Promise<BackupReport>;
  /** Takes one that a rollback can read without an identity: not encrypted, in the data directory, where the data are anyway. */
  takeForUpgrade(): Promise<BackupReport>;
  report(): Promise<BackupsReport>;
  /** Problems of the backups. */
  healthReasons(): { level: "yellow"; code: string; reason: Sentence }[];
}

/** State of the backups, for the console. */
export interface BackupsReport extends Pick<BackupState, "good" | "failed"> {
  folder: string;
  /** Cron expression; null: no schedule. */
  schedule: string | null;
  /** Public keys that new backups are encrypted to. */
  recipients: readonly string[];
  /** Backups in the folder, newest first. */
  files: BackupFileInfo[];
}

const STATE_KEY = "backups";
const RECIPIENTS_KEY = "backup-recipients";

/** Recipients with which the daemon ran last, for backups without it. */
export function readBackupRecipients(store: Pick<Store, "one">): readonly string[] {
  return readOperationState<string[]>(store, RECIPIENTS_KEY) ?? [];
}

/** One day and two hours: a daily backup may be late by an hour when DST changes. */
const MAX_BACKUP_AGE_MS = 26 * 3_600_000;
/** If there is no recent backup at the start, one is taken after this delay, so that it does not slow down the start. */
const CATCH_UP_DELAY_MS = 10 * 60_000;

/** Takes nothing before `start`. */
export function createBackupScheduler(deps: BackupSchedulerDeps): BackupScheduler {
  const { store, clock, events, log, dataDir, version, settings, offsetAt } = deps;
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

  async function run(folder: string, isScheduled: boolean, recipients: readonly string[]): Promise<BackupReport> {
    const startedAt = clock.monotonicMs();
    const now = clock.now();
    try {
      const report = await takeBackup(folder, {
        ...{ store, dataDir, version, now, isScheduled, recipients },
        signal: shutdown.signal,
      });
      if (report.faults.length > 0) throw new UpstreamError("upstream", report.faults.join("; "));
      await saveState({ good: { at: now, file: report.path, bytes: report.bytes }, failed: null });
      if (isScheduled) await pruneBackups(folder, { days: settings.keepDays, weeks: settings.keepWeeks, offsetAt });
      log.info(
        {
          event: "backup.completed",
          file: report.path,
          bytes: report.bytes,
          ms: Math.round(clock.monotonicMs() - startedAt),
        },
        "backup verified",
      );
      return report;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ event: "backup.failed", err: error }, "backup failed");
      if (!shutdown.signal.aborted) await saveState({ failed: { at: now, reason } }).catch(() => undefined);
      throw error;
    }
  }

  function take(
    folder = defaultFolder,
    isScheduled = false,
    recipients: readonly string[] = settings.recipients,
  ): Promise<BackupReport> {
    if (taking !== null) return Promise.reject(new ConflictError(sentence("error.a-backup-is-already-running")));
    taking = run(folder, isScheduled, recipients).finally(() => {
      taking = null;
    });
    return taking;
  }

  /** A failure is already logged and reported by the health. */
  const takeScheduled = (): void => void take(defaultFolder, true).catch(() => undefined);

  function reschedule(): void {
    const config = store.get(endpoints, deps.endpointId())?.config as { backupSchedule?: unknown } | null | undefined;
    const own = config?.backupSchedule;
    const expression = typeof own === "string" && own !== "" ? own : settings.schedule;
    if (planned?.expression === (expression ?? "")) return;
    planned?.cancel();
    planned = { expression: expression ?? "", cancel: () => undefined };
    if (expression === null) return;
    try {
      planned.cancel = deps.schedule(expression, takeScheduled);
    } catch (error) {
      log.error(
        { event: "backup.schedule_invalid", err: error, expression },
        "invalid backup schedule; no scheduled backups",
      );
    }
  }

  return {
    take: (folder, isScheduled) => take(folder, isScheduled),
    takeForUpgrade: () => (settings.recipients.length === 0 ? take() : take(join(dataDir, "backups"), false, [])),
    async report() {
      const { good, failed } = state;
      return {
        folder: defaultFolder,
        schedule: planned?.expression || null,
        recipients: settings.recipients,
        good,
        failed,
        files: await listBackups(defaultFolder),
      };
    },
    async start() {
      const saved = readOperationState<BackupState>(store, STATE_KEY);
      if (saved) state = saved;
      else await saveState({});
      await store.write((tx) => writeOperationState(tx, RECIPIENTS_KEY, settings.recipients));
      await removeLeftovers(defaultFolder);
      await removeLeftovers(dataDir);
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
          {
            level: "yellow",
            code: "backups",
            reason: sentence("health.backup-failed", { date: day(failed.at), reason: failed.reason }),
          },
        ];
      if (planned?.expression === "" || clock.now() - (good?.at ?? since) <= MAX_BACKUP_AGE_MS) return [];
      const reason = good
        ? sentence("health.backup-old", { file: basename(good.file) })
        : sentence("health.backup-none");
      return [{ level: "yellow", code: "backups", reason }];
    },
  };
}
