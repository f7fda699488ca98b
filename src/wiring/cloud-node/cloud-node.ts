import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { openTenantDatabase, type TenantDatabase } from "../../ha/tenant-database.ts";
import type { Clock } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { productVersion } from "../../lib/product-version.ts";
import type { HealthSource } from "../../ops/health/health.ts";
import type { CertificateAndKey } from "../../ops/tls/certificate-authority.ts";
import { adoptAuthority, ensureAuthority } from "../../ops/tls/certificates.ts";
import { createSecrets, keyFingerprint, loadSecretKey } from "../../store/secrets.ts";
import type { SharedLog } from "../../store/shared-log.ts";
import { adoptRestoredData } from "../../sync/adopt-restored-data.ts";
import { productReplicatedTypes } from "../../sync/protocol/product-replicated-types.ts";
import { createSqliteProgramRunner } from "../../sync/storage/sqlite-program-runner.ts";
import { prepareFirstRun } from "../first-run.ts";
import {
  discardStaleReplica,
  followLeader,
  openReplica,
  type ReplicaOptions,
  requireSupportedVersion,
  writeHistoryId,
} from "./local-replica.ts";
import { createReplicaHealth } from "./replica-health.ts";

export interface CloudNodeOptions extends Omit<ReplicaOptions, "faults"> {
  /** PostgreSQL URL; see `TenantDatabaseOptions`. */
  url: string;
  /** Stops waiting for leadership. */
  signal: AbortSignal;
}

/** A node that is the leader. */
export interface CloudNode {
  sharedLog: SharedLog;
  /** Problems of the local replica. */
  healthSource: HealthSource;
  /** Resolves when another node has become the leader. */
  leadershipLost(): Promise<void>;
  stop(): Promise<void>;
}

const CLEANUP_INTERVAL_MS = 3600_000;
/** Deleted rows that are remembered, so that a node that was offline can catch up. */
const MAX_TOMBSTONES = 200_000;

/**
 * Makes the data directory a replica of the tenant, keeps it in sync as a standby, and returns once this node is the leader; the
 * first node of a tenant uploads its data. Throws UpstreamError for data or a key of another tenant; rejects with the signal's
 * reason.
 */
export async function joinCluster(given: CloudNodeOptions): Promise<CloudNode> {
  const { dataDir, url, clock, log } = given;
  const replicaHealth = createReplicaHealth({ dataDir, clock });
  const options = { ...given, faults: replicaHealth };
  const tenant = await openTenantDatabase({
    ...{
      url,
      clock,
      name: options.organisation,
      node: nodeName(),
      filesDir: join(dataDir, "files"),
      version: productVersion(),
    },
    onFault: (error) =>
      log.warn({ event: "node.database_unreachable", err: error }, "database connection failed; retrying"),
  });
  const failed = new AbortController();
  try {
    const head = await tenant.readHead();
    requireSupportedVersion(head.version);
    if (head.seq === 0) await prepareFirstRun(dataDir, clock);
    await verifySharedKey(tenant, dataDir, head.seq === 0);
    if (!existsSync(join(dataDir, "carillon.db")) && head.seq === 0) throw noInitialDataError(dataDir);
    await discardStaleReplica(tenant, options);
    const leadership = tenant.leadership.acquire(AbortSignal.any([options.signal, failed.signal]));
    leadership.catch(() => undefined);
    while (!(await followLeader(tenant, leadership, options))) await discardStaleReplica(tenant, options);
    options.onStatus({ doing: "begins" });
    await adoptSharedAuthority(tenant, dataDir, clock);
    if (options.isRestored) await beginNewHistory(tenant, options);
  } catch (error) {
    failed.abort();
    await tenant.close();
    throw error;
  }
  const cleanupTimer = clock.every(CLEANUP_INTERVAL_MS, () => {
    tenant
      .pruneTombstones(MAX_TOMBSTONES)
      .catch((error: unknown) => log.warn({ event: "node.cleanup_failed", err: error }, "failed to prune tombstones"));
  });
  return {
    sharedLog: tenant.log,
    healthSource: replicaHealth.healthSource,
    leadershipLost: tenant.leadership.lost,
    async stop() {
      cleanupTimer.cancel();
      await tenant.close();
    },
  };
}

/** Host name and process id, for display. */
function nodeName(): string {
  return `${hostname()}/${process.pid}`;
}

async function verifySharedKey(tenant: TenantDatabase, dataDir: string, isFirst: boolean): Promise<void> {
  const agreed = await tenant.readSetting("key");
  const fingerprint = keyFingerprint(
    loadSecretKey(dataDir, process.env.CREDENTIALS_DIRECTORY, agreed !== null || !isFirst),
  );
  const agreedFingerprint = await tenant.proposeSetting("key", fingerprint);
  if (agreedFingerprint === fingerprint) return;
  const message = `The secret key ${fingerprint} in ${dataDir} does not match the organisation's key ${agreedFingerprint}: copy the file secret-key of another node to it.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** All nodes use one CA for the appliances' certificates. */
async function adoptSharedAuthority(tenant: TenantDatabase, dataDir: string, clock: Clock): Promise<void> {
  const secrets = createSecrets(loadSecretKey(dataDir));
  const stored = await tenant.readSetting("authority");
  const proposed = stored ?? secrets.seal(JSON.stringify(await ensureAuthority(dataDir, clock.now())));
  const agreed = await tenant.proposeSetting("authority", proposed);
  adoptAuthority(dataDir, JSON.parse(secrets.open(agreed)) as CertificateAndKey);
}

/**
 * After restoring the database from a backup: appliances and replicas may have rows that the database lost, and the
 * database may repeat commands; a new history id makes them synchronize fully.
 */
async function beginNewHistory(tenant: TenantDatabase, options: ReplicaOptions): Promise<void> {
  await tenant.leadership.startHistory();
  writeHistoryId(options.dataDir, (await tenant.readHead()).history);
  const data = await openReplica(tenant.log, options, false);
  const runner = createSqliteProgramRunner(data.store, data.catalogue, data.access.systemContext("restore"));
  const types = productReplicatedTypes(data.catalogue);
  try {
    await runner.transact(() => adoptRestoredData({ types, commonFields: {}, now: options.clock.now(), newId }));
  } finally {
    await data.close();
  }
}

function noInitialDataError(dataDir: string): UpstreamError {
  const message = `No cloud found in ${dataDir} to initialize the organisation with. Set it up first: carillon init --data ${dataDir} …`;
  return new UpstreamError("starting", message, { dataDir });
}
