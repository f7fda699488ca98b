import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { HealthSource } from "../health/health.ts";
import { prepareAuthority, takeAuthority } from "../operations/certificates.ts";
import type { CertificateAndKey } from "../operations/make-certificate.ts";
import { type Organisation, openOrganisation } from "../replication/hub/postgres/organisation.ts";
import { productTypes } from "../replication/link/product-types.ts";
import { adoptRestored } from "../replication/restored.ts";
import { createSqliteWork } from "../replication/sqlite-work.ts";
import { applianceKey, createSecrets, keyFingerprint } from "../store/secrets.ts";
import type { SharedLog } from "../store/shared-log.ts";
import { prepareFirstRun } from "./first-run.ts";
import { type CopyOptions, dropStale, follow, noteHistory, openCopy, requireKnown } from "./hub-copy.ts";
import { createCopyFaults } from "./hub-faults.ts";
import { ownVersion } from "./version.ts";

/** What a node of a cloud is made of. */
export interface HubNodeOptions extends Omit<CopyOptions, "faults"> {
  /** See `OrganisationNeeds`. */
  url: string;
  /** Ends the waiting. */
  signal: AbortSignal;
}

/** A node whose turn it is. */
export interface HubNode {
  log: SharedLog;
  /** What is wrong with its copy. */
  source: HealthSource;
  /** Resolves when another node acts in its place. */
  lost(): Promise<void>;
  stop(): Promise<void>;
}

const HOUR_MS = 3600_000;
/** Rows that are gone and remembered: a node that was away meanwhile catches up. own choice */
const KEPT_GONE = 200_000;

/**
 * Makes the folder a copy of the organisation and keeps it so until this node's turn comes to act; the first node of an
 * organisation brings what is in its folder. Throws UpstreamError for a folder or a key that is not the organisation's,
 * rejects with the signal's reason.
 */
export async function joinOrganisation(given: HubNodeOptions): Promise<HubNode> {
  const { dataDir, url, clock, log } = given;
  const faults = createCopyFaults({ dataDir, clock });
  const options = { ...given, faults };
  const organisation = await openOrganisation({
    ...{
      url,
      clock,
      name: options.organisation,
      node: nodeName(),
      filesDir: join(dataDir, "files"),
      version: ownVersion(),
    },
    onFault: (error) => log.warn({ err: error }, "the organisation's database can't be reached"),
  });
  const failed = new AbortController();
  try {
    const head = await organisation.head();
    requireKnown(head.version);
    if (head.seq === 0) await prepareFirstRun(dataDir, clock);
    await agreeOnKey(organisation, dataDir, head.seq === 0);
    if (!existsSync(join(dataDir, "carillon.db")) && head.seq === 0) throw notSetUp(dataDir);
    await dropStale(organisation, options);
    const acting = organisation.acting.begin(AbortSignal.any([options.signal, failed.signal]));
    acting.catch(() => undefined);
    while (!(await follow(organisation, acting, options))) await dropStale(organisation, options);
    options.onDoing({ doing: "begins" });
    await agreeOnAuthority(organisation, dataDir, clock);
    if (options.isRestored) await beginAnew(organisation, options);
  } catch (error) {
    failed.abort();
    await organisation.close();
    throw error;
  }
  const tidying = clock.every(HOUR_MS, () => {
    organisation
      .forgetGone(KEPT_GONE)
      .catch((error: unknown) => log.warn({ err: error }, "the database was not tidied"));
  });
  return {
    log: organisation.log,
    source: faults.source,
    lost: organisation.acting.lost,
    async stop() {
      tidying.cancel();
      await organisation.close();
    },
  };
}

/** For people: which machine and process it is. */
function nodeName(): string {
  return `${hostname()}/${process.pid}`;
}

async function agreeOnKey(organisation: Organisation, dataDir: string, isFirst: boolean): Promise<void> {
  const agreed = await organisation.agreed("key");
  const print = keyFingerprint(applianceKey(dataDir, process.env.CREDENTIALS_DIRECTORY, agreed !== null || !isFirst));
  const counts = await organisation.agree("key", print);
  if (counts === print) return;
  const message = `The secret key ${print} in ${dataDir} is not that of the organisation, ${counts}: copy the file secret-key of another node there.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** All nodes sign the appliances' certificates as one. */
async function agreeOnAuthority(organisation: Organisation, dataDir: string, clock: Clock): Promise<void> {
  const secrets = createSecrets(applianceKey(dataDir));
  const known = await organisation.agreed("authority");
  const proposed = known ?? secrets.seal(JSON.stringify(await prepareAuthority(dataDir, clock.now())));
  const counts = await organisation.agree("authority", proposed);
  takeAuthority(dataDir, JSON.parse(secrets.open(counts)) as CertificateAndKey);
}

/**
 * Appliances have what the database does not know any more, and orders that it will give again; and so may copies of other
 * nodes.
 */
async function beginAnew(organisation: Organisation, options: CopyOptions): Promise<void> {
  await organisation.acting.beginHistory();
  noteHistory(options.dataDir, (await organisation.head()).history);
  const data = await openCopy(organisation.log, options, false);
  const work = createSqliteWork(data.store, data.catalogue, data.access.systemBy("restore"));
  const types = productTypes(data.catalogue);
  try {
    await work.transact(() => adoptRestored({ types, about: {}, now: options.clock.now(), newId }));
  } finally {
    await data.close();
  }
}

function notSetUp(dataDir: string): UpstreamError {
  const message = `There is no cloud in ${dataDir} that the organisation could begin with. Set it up first: carillon init --data ${dataDir} …`;
  return new UpstreamError("starting", message, { dataDir });
}
