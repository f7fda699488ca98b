import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TenantDatabase } from "../../ha/tenant-database.ts";
import { type Clock, sleep } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { createEvents } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import { productVersion } from "../../lib/product-version.ts";
import { isNewerVersion } from "../../lib/version-order.ts";
import type { SharedLog } from "../../store/shared-log.ts";
import type { SharedCopy } from "../../store/store.ts";
import { type ApplianceData, isInitialized, openApplianceData } from "../appliance-data.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../load-declarations.ts";
import { INTERNAL_TABLES } from "../schema.ts";
import type { NodeStatus } from "./node-status.ts";
import { divergedReplicaName, type ReplicaHealth } from "./replica-health.ts";
import { uploadReplica, verifyReplica } from "./replica-verification.ts";

/** What a node keeps its copy of the organisation with. */
export interface ReplicaOptions {
  dataDir: string;
  /** The organisation's name. */
  organisation: string;
  clock: Clock;
  log: Log;
  /** The database was brought back from a backup: what copies have beyond it does not count. */
  isRestored?: boolean;
  /** Told what the node does before it acts: often while it gets on with work. */
  onStatus(doing: NodeStatus): void;
  faults: Pick<ReplicaHealth, "reportVerification">;
}

const POLL_INTERVAL_MS = 1_000;
/** Name of the file beside the copy that says of which history it is. */
const HISTORY_ID_FILE = "copy-of";
/** Stands there for a copy that has rows which the database lacks, and lacks others: it is kept when it is made anew. */
const DIVERGED_MARKER = "parted";
/** Stands there before the history that a node begins by bringing its rows, until it has noted that they are there. */
const UPLOADING_MARKER = "bringing ";

/** Opens the folder as a copy; one that follows is written by other nodes alone. */
export async function openReplica(
  shared: SharedLog,
  { dataDir, clock, log }: Pick<ReplicaOptions, "dataDir" | "clock" | "log">,
  follows: boolean,
): Promise<ApplianceData> {
  const onFault = (error: unknown): void => log.error({ err: error }, "the copy of the organisation failed");
  return openApplianceData({
    ...{ dataDir, clock, log, tables: INTERNAL_TABLES, behaviours: {}, shared, follows, onFatal: onFault },
    declarations: await loadDeclarations([BUILT_IN_DECLARATIONS]),
    events: createEvents(onFault),
  });
}

/** Throws UpstreamError for rows of a later version: this one would leave out what it does not know of them. */
export function requireSupportedVersion(version: string | null): void {
  if (!isNewerThanThisVersion(version)) return;
  const message = `The organisation was written by Carillon ${version}; this is ${productVersion()}. Upgrade this node first.`;
  throw new UpstreamError("starting", message);
}

const isNewerThanThisVersion = (version: string | null): boolean =>
  version !== null && isNewerVersion(version, productVersion());

/**
 * Removes a copy that can't be brought up to date. Throws UpstreamError where the folder holds something else, or what the
 * database has lost, and for rows of a later version.
 */
export async function discardStaleReplica(organisation: TenantDatabase, options: ReplicaOptions): Promise<void> {
  const { dataDir, isRestored } = options;
  if (!existsSync(join(dataDir, "carillon.db"))) return;
  const { seq, floor, history, version } = await organisation.readHead();
  const data = await openReplica(organisation.log, options, true);
  const at = data.store.shared?.position() ?? 0;
  const isOwn = at === 0 && isInitialized(data.store);
  await data.close();
  // Nobody else knew of that history before the rows were there, and they came all at once.
  const isBrought = readHistoryId(dataDir) === UPLOADING_MARKER + history;
  if (isOwn && seq > 0 && !isBrought) throw foreignDataError(dataDir, options.organisation);
  if (isBrought && seq > 0)
    options.log.warn(
      { dataDir },
      "an earlier start brought the rows and ended before it noted that: the copy is made anew",
    );
  if (at > 0 && seq === 0) throw databaseEmptiedError(dataDir);
  if (seq === 0) return;
  // Some of a later version may have been taken already.
  if (!isNewerThanThisVersion(version) && !isRestored && readHistoryId(dataDir) === history) {
    if (at > seq) throw databaseBehindError(dataDir);
    if (at >= floor) return;
  }
  removeReplica(options);
  requireSupportedVersion(version);
}

/** One that has what the database lacks is kept under another name, for somebody to look into. */
function removeReplica({ dataDir, clock, log }: ReplicaOptions): void {
  const isKept = readHistoryId(dataDir) === DIVERGED_MARKER;
  const kept = join(dataDir, divergedReplicaName(clock.now()));
  for (const end of ["", "-wal", "-shm"]) {
    const path = join(dataDir, `carillon.db${end}`);
    if (isKept && existsSync(path)) renameSync(path, `${kept}${end}`);
    else rmSync(path, { force: true });
  }
  if (isKept)
    log.error({ kept }, "the copy is made anew; what the organisation's database lacks stands in the one kept");
}

const VERIFICATION_FAILURES = {
  less: "the copy lacks rows that the organisation's database has",
  parted: "the organisation's database lacks rows that the copy has, and the copy others",
};

/**
 * Takes what the acting node writes until this one acts, when `acting` resolves, and has all then; the first node brings
 * what it has. False when the copy has become stale meanwhile.
 */
export async function followLeader(
  organisation: TenantDatabase,
  acting: Promise<void>,
  options: ReplicaOptions,
): Promise<boolean> {
  const { dataDir, clock, log, onStatus } = options;
  const began = await organisation.readHead();
  const data = await openReplica(organisation.log, options, true);
  writeHistoryId(dataDir, began.history);
  const { shared } = data.store;
  const isEmpty = shared?.position() === 0;
  let isLeader = false;
  let isStale = false;
  let needsFiles = true;
  let isStandby = false;
  /** Up to where it was told of all that is gone. */
  let verifiedSequence = shared?.position() ?? 0;
  const missedDeletions = (floor: number): boolean => {
    if (floor <= began.floor || verifiedSequence >= floor) return false;
    writeHistoryId(dataDir, "");
    isStale = true;
    return true;
  };
  const catchUp = async (): Promise<void> => {
    const { history, seq, floor, version } = await organisation.readHead();
    const isFirst = began.seq === 0 && seq > 0;
    const at = shared?.position() ?? 0;
    isStale = history !== began.history || seq < at || isFirst || isNewerThanThisVersion(version);
    // Where it did not hear the database for long, nobody tells it any more which of its rows are gone.
    if (isStale || missedDeletions(floor)) return;
    // Of one that stands by only what takes long before it acts is news.
    const tell = isLeader || !isStandby ? onStatus : () => undefined;
    await shared?.catchUp(() => tell({ doing: "takes-rows", done: shared.position(), of: seq }));
    const isNews = (shared?.position() ?? 0) > at;
    // Nor where that was forgotten while it took the news, behind which it stands now.
    if (isNews && missedDeletions((await organisation.readHead()).floor)) return;
    verifiedSequence = shared?.position() ?? 0;
    // They are there before a row names them.
    needsFiles ||= isNews;
    if (needsFiles) await organisation.files.fetchMissing((done, of) => tell({ doing: "takes-files", done, of }));
    needsFiles = false;
    if (isLeader || isStandby) return;
    isStandby = true;
    onStatus({ doing: "stands-by" });
  };
  let onNews = (): void => undefined;
  organisation.onChange(() => onNews());
  try {
    const begun = acting.then(() => {
      isLeader = true;
    });
    while (!isLeader && !isStale) {
      const news = new Promise<void>((resolve) => {
        onNews = resolve;
      });
      // Who may act at once stands by for nobody, and others are asked no sooner than that is known.
      await Promise.race([begun, sleep(clock, isStandby ? POLL_INTERVAL_MS : POLL_INTERVAL_MS / 2), news]);
      if (!isLeader) await catchUp().catch((error: unknown) => log.warn({ err: error }, "it does not follow"));
    }
    if (isLeader && shared && began.seq === 0 && (await organisation.readHead()).seq === 0) {
      await initializeCluster(organisation, shared, options);
    } else if (isLeader) await catchUp();
    if (isStale || !shared) return !isStale;
    const wholeness = await verifyReplica(organisation, shared, options);
    if (wholeness === "whole") return true;
    log.error({ dataDir, isEmpty }, VERIFICATION_FAILURES[wholeness]);
    options.faults.reportVerification(wholeness, isEmpty);
    // It was just made: making it anew would not help, and a cloud that acts is better than none.
    if (isEmpty) return true;
    writeHistoryId(dataDir, wholeness === "parted" ? DIVERGED_MARKER : "");
    return false;
  } finally {
    await data.close();
  }
}

/**
 * Makes this copy's rows the organisation's first ones. They come into sight with a history that was begun for them, and
 * which this folder alone notes before: whoever ends in between knows by it at the next start whether they are there.
 */
async function initializeCluster(
  organisation: TenantDatabase,
  copy: SharedCopy,
  options: ReplicaOptions,
): Promise<void> {
  const { dataDir } = options;
  await organisation.leadership.startHistory();
  const { history } = await organisation.readHead();
  writeHistoryId(dataDir, UPLOADING_MARKER + history);
  await uploadReplica(organisation, copy, options);
  writeHistoryId(dataDir, history);
}

/** Notes of which of the organisation's histories the copy is; it is on the disk then. */
export function writeHistoryId(dataDir: string, history: string): void {
  const path = join(dataDir, HISTORY_ID_FILE);
  const file = openSync(path, "w", 0o600);
  try {
    writeFileSync(file, history);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function readHistoryId(dataDir: string): string | null {
  const path = join(dataDir, HISTORY_ID_FILE);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function foreignDataError(dataDir: string, name: string): UpstreamError {
  const message = `The data in ${dataDir} is none of the organisation "${name}", which is in the database already: give an empty folder with its secret-key.`;
  return new UpstreamError("starting", message, { dataDir });
}

function databaseEmptiedError(dataDir: string): UpstreamError {
  const message = `The folder ${dataDir} holds a copy of an organisation, and the database holds nothing of it: bring back its backup, then say --restored once, at one node.`;
  return new UpstreamError("starting", message, { dataDir });
}

function databaseBehindError(dataDir: string): UpstreamError {
  const message = `The database stands behind the copy in ${dataDir}: was it brought back from a backup? Then say --restored once, at one node.`;
  return new UpstreamError("starting", message, { dataDir });
}
