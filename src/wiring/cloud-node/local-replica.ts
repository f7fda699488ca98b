import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TenantDatabase } from "../../ha/tenant-database.ts";
import type { Clock } from "../../lib/clock.ts";
import { replaceFile } from "../../lib/durable-file.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { createEvents } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import { productVersion } from "../../lib/product-version.ts";
import { isNewerVersion } from "../../lib/version-order.ts";
import { within } from "../../lib/waits.ts";
import type { SharedLog } from "../../store/shared-log.ts";
import type { SharedCopy } from "../../store/store.ts";
import { type ApplianceData, isInitialized, openApplianceData } from "../appliance-data.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../load-declarations.ts";
import { INTERNAL_TABLES } from "../schema.ts";
import type { NodeStatus } from "./node-status.ts";
import { divergedReplicaName, type ReplicaHealth } from "./replica-health.ts";
import { uploadReplica, verifyReplica } from "./replica-verification.ts";

export interface ReplicaOptions {
  dataDir: string;
  /** Name of the tenant. */
  organisation: string;
  clock: Clock;
  log: Log;
  /** The database was restored from a backup: rows that only replicas have are discarded. */
  isRestored?: boolean;
  /** Reports what the node does before it is the leader; called often during long work. */
  onStatus(doing: NodeStatus): void;
  faults: Pick<ReplicaHealth, "reportVerification">;
}

const POLL_INTERVAL_MS = 1_000;
/** File beside the replica that names the history it belongs to. */
const HISTORY_ID_FILE = "copy-of";
/** Marks a replica that has rows the database lacks, and lacks others: it is kept when the replica is rebuilt. */
const DIVERGED_MARKER = "parted";
/** Precedes the history id while the first node uploads its rows. */
const UPLOADING_MARKER = "bringing ";

/** Opens the data directory as a replica; with `isFollower`, only other nodes write to it. */
export async function openReplica(
  shared: SharedLog,
  { dataDir, clock, log }: Pick<ReplicaOptions, "dataDir" | "clock" | "log">,
  isFollower: boolean,
): Promise<ApplianceData> {
  const onFault = (error: unknown): void => log.error({ event: "replica.failed", err: error }, "local replica failed");
  return openApplianceData({
    ...{ dataDir, clock, log, tables: INTERNAL_TABLES, shared, isFollower, onFatal: onFault },
    declarations: await loadDeclarations([BUILT_IN_DECLARATIONS]),
    events: createEvents(onFault),
  });
}

/** Throws UpstreamError for data of a newer version: this version would drop what it does not support. */
export function requireSupportedVersion(version: string | null): void {
  if (!isNewerThanThisVersion(version)) return;
  const message = `The organisation's data were written by Carillon ${version}; this is ${productVersion()}. Upgrade this node first.`;
  throw new UpstreamError("starting", message);
}

const isNewerThanThisVersion = (version: string | null): boolean =>
  version !== null && isNewerVersion(version, productVersion());

/**
 * Deletes a replica that can't catch up any more. Throws UpstreamError if the folder contains other data or data that the
 * database has lost, and for data of a newer version.
 */
export async function discardStaleReplica(tenant: TenantDatabase, options: ReplicaOptions): Promise<void> {
  const { dataDir, isRestored } = options;
  if (!existsSync(join(dataDir, "carillon.db"))) return;
  const { seq, floor, history, version } = await tenant.readHead();
  const data = await openReplica(tenant.log, options, true);
  const at = data.store.shared?.position() ?? 0;
  const isOwn = at === 0 && isInitialized(data.store);
  await data.close();
  // The history id was known to this node only until the rows were uploaded, in one transaction.
  const isUploaded = readHistoryId(dataDir) === UPLOADING_MARKER + history;
  if (isOwn && seq > 0 && !isUploaded) throw foreignDataError(dataDir, options.organisation);
  if (isUploaded && seq > 0)
    options.log.warn(
      { event: "replica.rebuilding", dataDir },
      "an earlier start uploaded the rows but ended before recording it; rebuilding the replica",
    );
  if (at > 0 && seq === 0) throw databaseEmptiedError(dataDir);
  if (seq === 0) return;
  // Part of the data of a newer version may already be replicated.
  if (!isNewerThanThisVersion(version) && !isRestored && readHistoryId(dataDir) === history) {
    if (at > seq) throw databaseBehindError(dataDir);
    if (at >= floor) return;
  }
  removeReplica(options);
  requireSupportedVersion(version);
}

/** A replica with rows that the database lacks is kept under another name, for inspection. */
function removeReplica({ dataDir, clock, log }: ReplicaOptions): void {
  const isKept = readHistoryId(dataDir) === DIVERGED_MARKER;
  const kept = join(dataDir, divergedReplicaName(clock.now()));
  for (const end of ["", "-wal", "-shm"]) {
    const path = join(dataDir, `carillon.db${end}`);
    if (isKept && existsSync(path)) renameSync(path, `${kept}${end}`);
    else rmSync(path, { force: true });
  }
  if (isKept)
    log.error(
      { event: "replica.diverged", kept },
      "rebuilding the replica; rows that the database lacks are in the kept file",
    );
}

const VERIFICATION_FAILURES = {
  less: "the replica lacks rows that the database has",
  parted: "replica and database have diverged: each has rows that the other lacks",
};

/**
 * Replicates the leader's writes until this node becomes the leader, when `leadership` resolves, and is complete; the first node
 * uploads its data. False when the replica became stale.
 */
export async function followLeader(
  tenant: TenantDatabase,
  leadership: Promise<void>,
  options: ReplicaOptions,
): Promise<boolean> {
  const { dataDir, clock, log, onStatus } = options;
  const initialHead = await tenant.readHead();
  const data = await openReplica(tenant.log, options, true);
  writeHistoryId(dataDir, initialHead.history);
  const { shared } = data.store;
  const isEmpty = shared?.position() === 0;
  let isLeader = false;
  let isStale = false;
  let needsFiles = true;
  let isStandby = false;
  /** Position up to which all deletions are known. */
  let verifiedSequence = shared?.position() ?? 0;
  const missedDeletions = (floor: number): boolean => {
    if (floor <= initialHead.floor || verifiedSequence >= floor) return false;
    writeHistoryId(dataDir, "");
    isStale = true;
    return true;
  };
  const catchUp = async (): Promise<void> => {
    const { history, seq, floor, version } = await tenant.readHead();
    const isFirst = initialHead.seq === 0 && seq > 0;
    const at = shared?.position() ?? 0;
    isStale = history !== initialHead.history || seq < at || isFirst || isNewerThanThisVersion(version);
    // After a long time offline, tombstones may be gone, so deletions can't be replicated.
    if (isStale || missedDeletions(floor)) return;
    // At a standby only long work before it becomes the leader is worth reporting.
    const report = isLeader || !isStandby ? onStatus : () => undefined;
    await shared?.catchUp(() => report({ doing: "takes-rows", done: shared.position(), of: seq }));
    const hasChanges = (shared?.position() ?? 0) > at;
    // Tombstones may also have been pruned during the catch-up.
    if (hasChanges && missedDeletions((await tenant.readHead()).floor)) return;
    verifiedSequence = shared?.position() ?? 0;
    // Files are stored before a row names them.
    needsFiles ||= hasChanges;
    if (needsFiles) await tenant.files.fetchMissing((done, of) => report({ doing: "takes-files", done, of }));
    needsFiles = false;
    if (isLeader || isStandby) return;
    isStandby = true;
    onStatus({ doing: "stands-by" });
  };
  let onChange = (): void => undefined;
  tenant.onChange(() => onChange());
  try {
    const elected = leadership.then(() => {
      isLeader = true;
    });
    while (!isLeader && !isStale) {
      const changed = new Promise<void>((resolve) => {
        onChange = resolve;
      });
      // A node that can become the leader at once reports no standby, and polls faster until that is known.
      const timeoutMs = isStandby ? POLL_INTERVAL_MS : POLL_INTERVAL_MS / 2;
      await within(clock, Promise.race([elected, changed]), { timeoutMs });
      if (!isLeader)
        await catchUp().catch((error: unknown) =>
          log.warn({ event: "replica.catch_up_failed", err: error }, "replication from the database failed; retrying"),
        );
    }
    if (isLeader && shared && initialHead.seq === 0 && (await tenant.readHead()).seq === 0) {
      await initializeCluster(tenant, shared, options);
    } else if (isLeader) await catchUp();
    if (isStale || !shared) return !isStale;
    const state = await verifyReplica(tenant, shared, options);
    if (state === "whole") return true;
    log.error({ event: "replica.verification_failed", dataDir, isEmpty }, VERIFICATION_FAILURES[state]);
    options.faults.reportVerification(state, isEmpty);
    // The replica was just built: rebuilding would not help, and an incomplete cloud is better than none.
    if (isEmpty) return true;
    writeHistoryId(dataDir, state === "parted" ? DIVERGED_MARKER : "");
    return false;
  } finally {
    await data.close();
  }
}

/**
 * Makes the rows of this replica the first ones of the tenant. They become visible together with a new history id that only
 * this folder records before, so that after a crash the next start can tell whether they were uploaded.
 */
async function initializeCluster(tenant: TenantDatabase, replica: SharedCopy, options: ReplicaOptions): Promise<void> {
  const { dataDir } = options;
  await tenant.leadership.startHistory();
  const { history } = await tenant.readHead();
  writeHistoryId(dataDir, UPLOADING_MARKER + history);
  await uploadReplica(tenant, replica, options);
  writeHistoryId(dataDir, history);
}

/** Records the history of the replica; flushed to disk when it returns. */
export function writeHistoryId(dataDir: string, history: string): void {
  replaceFile(join(dataDir, HISTORY_ID_FILE), history);
}

function readHistoryId(dataDir: string): string | null {
  const path = join(dataDir, HISTORY_ID_FILE);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function foreignDataError(dataDir: string, name: string): UpstreamError {
  const message = `The data in ${dataDir} do not belong to the organisation "${name}", which already exists in the database: use an empty folder that contains its secret-key.`;
  return new UpstreamError("starting", message, { dataDir });
}

function databaseEmptiedError(dataDir: string): UpstreamError {
  const message = `${dataDir} contains a replica of an organisation, but the database is empty: restore the database from a backup, then start one node once with --restored.`;
  return new UpstreamError("starting", message, { dataDir });
}

function databaseBehindError(dataDir: string): UpstreamError {
  const message = `The database is older than the replica in ${dataDir}. If it was restored from a backup, start one node once with --restored.`;
  return new UpstreamError("starting", message, { dataDir });
}
