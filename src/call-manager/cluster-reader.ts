import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import { type AxlClient, createAxlClient } from "./axl/axl-client.ts";
import { type ChangeCheckpoint, listChanges } from "./axl/change-notification.ts";
import { fetchDirectoryNumbers, fetchNodes, fetchPhone, fetchPhones } from "./axl/phone-list.ts";
import { queryRegistrations } from "./axl/ris-port.ts";
import { ClusterError, toClusterError } from "./cluster-error.ts";
import type {
  ClusterAccess,
  ClusterPhone,
  GatheredPhone,
  NodeState,
  PhoneRegistration,
  ReadingKind,
  ReadingSummary,
} from "./cluster-types.ts";
import { type ConnectionTest, testConnection } from "./connection-test.ts";
import { mergeRegistrations } from "./registrations.ts";
import { createSnmpNodes, type SnmpNodes } from "./snmp/snmp-nodes.ts";

/** Changed phones that are requested one by one; with more, all phones are read. @source docs/decisions/0205-call-manager.md, Reading */
const MAX_SINGLE_READS = 100;

export interface ClusterReaderDeps {
  policy: SsrfGuard;
  clock: Clock;
  /** Trusted authorities besides the usual ones, PEM. */
  authorities: string | null;
  snmpPort: number;
  allowDes: boolean;
  /** Called with the progress of a reading. */
  onProgress(clusterId: string, progress: ReadingProgress): void;
}

/** Progress of a reading. */
export interface ReadingProgress {
  stage: "database" | "registrations";
  /** Database rows received so far. */
  rows: number;
}

/**
 * Reads clusters. The phones of a reading are kept for `take` until the next reading of the same cluster, which compares with
 * them.
 */
export interface ClusterReader {
  /** Throws ClusterError; the previous snapshot is kept then. */
  read(access: ClusterAccess, kind: ReadingKind): Promise<ReadingSummary>;
  /** `count` phones of the last reading, from index `from`. */
  take(clusterId: string, from: number, count: number): Promise<readonly GatheredPhone[]>;
  /** Addresses of all registered phones. */
  addresses(clusterId: string): Promise<readonly string[]>;
  testConnection(access: ClusterAccess): Promise<ConnectionTest>;
  /** The last reading was not applied: the next one starts from scratch. */
  discard(clusterId: string): Promise<void>;
  /** Cancels readings in progress. */
  close(): Promise<void>;
}

interface Snapshot {
  phones: ReadonlyMap<string, ClusterPhone>;
  registrations: ReadonlyMap<string, PhoneRegistration>;
  states: readonly NodeState[];
  nodes: readonly string[];
  mark: ChangeCheckpoint | null;
  source: ReadingSummary["registrationSource"];
}

interface ClusterConnection {
  key: string;
  client: AxlClient;
  nodes: SnmpNodes;
  snapshot: Snapshot | null;
  found: readonly GatheredPhone[];
}

export function createClusterReader(deps: ClusterReaderDeps): ClusterReader {
  const { clock } = deps;
  const abortController = new AbortController();
  const { signal } = abortController;
  const clusters = new Map<string, ClusterConnection>();

  function clusterFor(access: ClusterAccess): ClusterConnection {
    const key = JSON.stringify([access.axl, access.snmp]);
    const known = clusters.get(access.id);
    if (known?.key === key) return known;
    known?.client.close();
    const cluster = { key, ...connect(access), snapshot: null, found: [] };
    clusters.set(access.id, cluster);
    return cluster;
  }

  function connect({ axl, snmp }: ClusterAccess): Pick<ClusterConnection, "client" | "nodes"> {
    const { policy, authorities, snmpPort: port, allowDes } = deps;
    const client = createAxlClient(axl, { policy, clock, signal, authorities });
    return { client, nodes: createSnmpNodes(snmp, { policy, signal, port, allowDes }) };
  }

  async function read(access: ClusterAccess, requestedKind: ReadingKind): Promise<ReadingSummary> {
    const began = clock.monotonicMs();
    const cluster = clusterFor(access);
    const { client } = cluster;
    const requestsBefore = client.requests;
    const run: ReadRun = {
      ...cluster,
      clock,
      signal,
      rows: 0,
      warnings: [],
      onProgress: (p) => deps.onProgress(access.id, p),
    };
    const before = cluster.snapshot;
    const database =
      requestedKind === "full" || before === null
        ? await readDatabase(run)
        : await readDatabaseChanges(run, before, requestedKind);
    const { kind } = database;
    const reported = await readRegistrations(run, database, before);
    const after: Snapshot = { ...database, ...reported };
    const found = kind === "full" ? [...after.phones.keys()] : changedPhoneNames(before as Snapshot, after);
    // Nothing can fail from here on.
    cluster.snapshot = after;
    cluster.found = found.map((name) => ({
      phone: after.phones.get(name) as ClusterPhone,
      registration: after.registrations.get(name) ?? null,
    }));
    const gone = kind === "full" || !before ? [] : [...before.phones.keys()].filter((name) => !after.phones.has(name));
    let registered = 0;
    for (const [name, each] of after.registrations) if (each.registered && after.phones.has(name)) registered++;
    return {
      ...{ kind, registered, gone, nodes: after.nodes, phones: after.phones.size, changed: cluster.found.length },
      ...{ version: await client.version(), requests: client.requests - requestsBefore, rows: run.rows },
      ...{
        registrationSource: reported.source,
        warnings: run.warnings,
        tookMs: Math.round(clock.monotonicMs() - began),
      },
    };
  }

  return {
    read,
    async take(clusterId, from, count) {
      return clusters.get(clusterId)?.found.slice(from, from + count) ?? [];
    },
    async addresses(clusterId) {
      const registrations = clusters.get(clusterId)?.snapshot?.registrations.values() ?? [];
      return [...registrations].flatMap(({ registered, address }) => (registered && address !== null ? [address] : []));
    },
    async testConnection(access) {
      const probe = connect(access);
      return testConnection(probe, { clock, signal }).finally(() => probe.client.close());
    },
    async discard(clusterId) {
      clusters.get(clusterId)?.client.close();
      clusters.delete(clusterId);
    },
    async close() {
      abortController.abort();
      for (const { client } of clusters.values()) client.close();
      clusters.clear();
    },
  };
}

interface ReadRun {
  client: AxlClient;
  nodes: SnmpNodes;
  clock: Clock;
  signal: AbortSignal;
  rows: number;
  warnings: string[];
  onProgress(progress: ReadingProgress): void;
}

type DatabaseContent = Pick<Snapshot, "phones" | "nodes" | "mark"> & { kind: ReadingKind };

/** Reads the whole database of the cluster. */
async function readDatabase(run: ReadRun): Promise<DatabaseContent> {
  const { client } = run;
  await client.version();
  // Fetched first: whatever changes during the reading is read again next time.
  const { checkpoint } = await listChanges(client, null);
  const nodes = await fetchNodes(client);
  const onRows = (rows: number): void => {
    run.rows += rows;
    run.onProgress({ stage: "database", rows: run.rows });
  };
  const phones = await fetchPhones({ ...run, onRows });
  try {
    const lines = await fetchDirectoryNumbers({ ...run, onRows });
    for (const [name, phone] of phones) phones.set(name, { ...phone, lines: lines.get(name) ?? [] });
  } catch (error) {
    // The reading continues for a cluster whose user may not run SQL queries.
    if (!(error instanceof ClusterError && error.code === "fault")) throw error;
    run.warnings.push(sentence("cluster.no-numbers", { reason: error.message }));
  }
  return { kind: "full", phones, nodes, mark: checkpoint };
}

/** Reads database changes since the last reading; everything if changes are not available. */
async function readDatabaseChanges(run: ReadRun, before: Snapshot, kind: ReadingKind): Promise<DatabaseContent> {
  if (kind === "partial") return { ...before, kind };
  if (before.mark === null) return readDatabase(run);
  const { checkpoint, phones, requiresFullRead } = await listChanges(run.client, before.mark);
  if (requiresFullRead || phones.length > MAX_SINGLE_READS) return readDatabase(run);
  const after = new Map(before.phones);
  const names = new Map([...before.phones].map(([name, { uuid }]) => [uuid, name]));
  for (const uuid of phones) {
    const phone = await fetchPhone(run.client, uuid);
    run.rows += 1;
    after.delete(names.get(uuid) ?? "");
    if (phone) after.set(phone.name.toUpperCase(), { ...phone, uuid });
  }
  return { kind, phones: after, nodes: before.nodes, mark: checkpoint };
}

/** Registrations by SNMP, unless no node's table has changed; by RisPort if a node does not respond. */
async function readRegistrations(
  run: ReadRun,
  { phones, nodes }: DatabaseContent,
  before: Snapshot | null,
): Promise<Pick<Snapshot, "registrations" | "states" | "source">> {
  run.onProgress({ stage: "registrations", rows: run.rows });
  try {
    const states = await run.nodes.tableStates(nodes);
    if (before?.source === "snmp" && isSameNodeStates(before.states, states))
      return { registrations: before.registrations, states, source: "snmp" };
    return { registrations: mergeRegistrations(await run.nodes.registrations(nodes)), states, source: "snmp" };
  } catch (error) {
    const snmpError = toClusterError(error, "SNMP");
    if (run.signal.aborted) throw snmpError;
    const names = [...phones.values()].map(({ name }) => name);
    const reported = await queryRegistrations(run.client, names, run).catch((second: unknown) => {
      const { message } = toClusterError(second, run.client.hostAndPort);
      throw new ClusterError(
        snmpError.code,
        sentence("cluster.both-failed", { problem: snmpError.message, message }),
        snmpError,
      );
    });
    run.warnings.push(sentence("cluster.risport", { reason: snmpError.message }));
    return { registrations: mergeRegistrations(reported), states: [], source: "risport" };
  }
}

function isSameNodeStates(some: readonly NodeState[], others: readonly NodeState[]): boolean {
  return some.length > 0 && JSON.stringify(some) === JSON.stringify(others);
}

/** Names of phones that differ. */
function changedPhoneNames(before: Snapshot, after: Snapshot): string[] {
  return [...after.phones].flatMap(([name, phone]) => {
    const isSamePhone = before.phones.get(name) === phone;
    const [was, is] = [before.registrations.get(name), after.registrations.get(name)];
    const isSameRegistration =
      was === is || (was?.registered === is?.registered && was?.address === is?.address && was?.at === is?.at);
    return isSamePhone && isSameRegistration ? [] : [name];
  });
}
