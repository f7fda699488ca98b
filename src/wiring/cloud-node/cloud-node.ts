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

/** What a node of a cloud is made of. */
export interface CloudNodeOptions extends Omit<ReplicaOptions, "faults"> {
  /** See `OrganisationNeeds`. */
  url: string;
  /** Ends the waiting. */
  signal: AbortSignal;
}

/** A node whose turn it is. */
export interface CloudNode {
  sharedLog: SharedLog;
  /** What is wrong with its copy. */
  healthSource: HealthSource;
  /** Resolves when another node acts in its place. */
  leadershipLost(): Promise<void>;
  stop(): Promise<void>;
}

const CLEANUP_INTERVAL_MS = 3600_000;
/** Rows that are gone and remembered: a node that was away meanwhile catches up. own choice */
const MAX_TOMBSTONES = 200_000;

/**
 * Makes the folder a copy of the organisation and keeps it so until this node's turn comes to act; the first node of an
 * organisation brings what is in its folder. Throws UpstreamError for a folder or a key that is not the organisation's,
 * rejects with the signal's reason.
 */
export async function joinCluster(given: CloudNodeOptions): Promise<CloudNode> {
  const { dataDir, url, clock, log } = given;
  const faults = createReplicaHealth({ dataDir, clock });
  const options = { ...given, faults };
  const organisation = await openTenantDatabase({
    ...{
      url,
      clock,
      name: options.organisation,
      node: nodeName(),
      filesDir: join(dataDir, "files"),
      version: productVersion(),
    },
    onFault: (error) => log.warn({ err: error }, "the organisation's database can't be reached"),
  });
  const failed = new AbortController();
  try {
    const head = await organisation.readHead();
    requireSupportedVersion(head.version);
    if (head.seq === 0) await prepareFirstRun(dataDir, clock);
    await verifySharedKey(organisation, dataDir, head.seq === 0);
    if (!existsSync(join(dataDir, "carillon.db")) && head.seq === 0) throw noInitialDataError(dataDir);
    await discardStaleReplica(organisation, options);
    const acting = organisation.leadership.acquire(AbortSignal.any([options.signal, failed.signal]));
    acting.catch(() => undefined);
    while (!(await followLeader(organisation, acting, options))) await discardStaleReplica(organisation, options);
    options.onStatus({ doing: "begins" });
    await adoptSharedAuthority(organisation, dataDir, clock);
    if (options.isRestored) await beginNewHistory(organisation, options);
  } catch (error) {
    failed.abort();
    await organisation.close();
    throw error;
  }
  const cleanupTimer = clock.every(CLEANUP_INTERVAL_MS, () => {
    organisation
      .pruneTombstones(MAX_TOMBSTONES)
      .catch((error: unknown) => log.warn({ err: error }, "the database was not tidied"));
  });
  return {
    sharedLog: organisation.log,
    healthSource: faults.healthSource,
    leadershipLost: organisation.leadership.lost,
    async stop() {
      cleanupTimer.cancel();
      await organisation.close();
    },
  };
}

/** For people: which machine and process it is. */
function nodeName(): string {
  return `${hostname()}/${process.pid}`;
}

async function verifySharedKey(organisation: TenantDatabase, dataDir: string, isFirst: boolean): Promise<void> {
  const agreed = await organisation.readSetting("key");
  const print = keyFingerprint(loadSecretKey(dataDir, process.env.CREDENTIALS_DIRECTORY, agreed !== null || !isFirst));
  const counts = await organisation.proposeSetting("key", print);
  if (counts === print) return;
  const message = `The secret key ${print} in ${dataDir} is not that of the organisation, ${counts}: copy the file secret-key of another node there.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** All nodes sign the appliances' certificates as one. */
async function adoptSharedAuthority(organisation: TenantDatabase, dataDir: string, clock: Clock): Promise<void> {
  const secrets = createSecrets(loadSecretKey(dataDir));
  const known = await organisation.readSetting("authority");
  const proposed = known ?? secrets.seal(JSON.stringify(await ensureAuthority(dataDir, clock.now())));
  const counts = await organisation.proposeSetting("authority", proposed);
  adoptAuthority(dataDir, JSON.parse(secrets.open(counts)) as CertificateAndKey);
}

/**
 * Appliances have what the database does not know any more, and orders that it will give again; and so may copies of other
 * nodes.
 */
async function beginNewHistory(organisation: TenantDatabase, options: ReplicaOptions): Promise<void> {
  await organisation.leadership.startHistory();
  writeHistoryId(options.dataDir, (await organisation.readHead()).history);
  const data = await openReplica(organisation.log, options, false);
  const work = createSqliteProgramRunner(data.store, data.catalogue, data.access.systemContext("restore"));
  const types = productReplicatedTypes(data.catalogue);
  try {
    await work.transact(() => adoptRestoredData({ types, commonFields: {}, now: options.clock.now(), newId }));
  } finally {
    await data.close();
  }
}

function noInitialDataError(dataDir: string): UpstreamError {
  const message = `There is no cloud in ${dataDir} that the organisation could begin with. Set it up first: carillon init --data ${dataDir} …`;
  return new UpstreamError("starting", message, { dataDir });
}
