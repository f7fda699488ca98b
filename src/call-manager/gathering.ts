import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import { type AxlClient, createAxlClient } from "./axl/axl-client.ts";
import { type ChangeMark, readChanges } from "./axl/changes.ts";
import { readLines, readNodes, readPhone, readPhones } from "./axl/phone-list.ts";
import { askRegistrations } from "./axl/ris-port.ts";
import { asClusterFault, ClusterFault } from "./cluster-fault.ts";
import { type ConnectionTest, testConnection } from "./connection-test.ts";
import type {
  ClusterAccess,
  GatheredPhone,
  NodeState,
  Phone,
  ReadingKind,
  ReadingSummary,
  Registration,
} from "./reading.ts";
import { mergeRegistrations } from "./registrations.ts";
import { createNodes, type Nodes } from "./snmp/nodes.ts";

/** Changed phones that are asked for one by one; more are read with all others. own choice: as many requests as five pages */
const MOST_SINGLE = 100;

/** What reading clusters needs. */
export interface GatheringNeeds {
  policy: AddressPolicy;
  clock: Clock;
  /** Authorities that clusters' certificates may be signed by beside the usual ones, PEM. */
  authorities: string | null;
  snmpPort: number;
  allowDes: boolean;
  /** Told how far a reading got. */
  onProgress(clusterId: string, progress: ReadingProgress): void;
}

/** How far a reading got. */
export interface ReadingProgress {
  stage: "database" | "registrations";
  /** Rows that the database sent so far. */
  rows: number;
}

/**
 * Reads clusters. What a reading found is kept for `take` until the next one of that cluster; what it learnt is what the
 * next one compares with.
 */
export interface ClusterReader {
  /** Throws ClusterFault; what was read before then stands as it was. */
  read(access: ClusterAccess, kind: ReadingKind): Promise<ReadingSummary>;
  /** Phones of the last reading, `count` from number `from` on. */
  take(clusterId: string, from: number, count: number): Promise<readonly GatheredPhone[]>;
  /** Addresses of all registered phones. */
  addresses(clusterId: string): Promise<readonly string[]>;
  test(access: ClusterAccess): Promise<ConnectionTest>;
  /** The last reading was not taken over: the next one begins anew. */
  forget(clusterId: string): Promise<void>;
  /** Calls off what is under way. */
  close(): Promise<void>;
}

interface Snapshot {
  phones: ReadonlyMap<string, Phone>;
  registrations: ReadonlyMap<string, Registration>;
  states: readonly NodeState[];
  nodes: readonly string[];
  mark: ChangeMark | null;
  source: ReadingSummary["registrationSource"];
}

interface Cluster {
  key: string;
  client: AxlClient;
  nodes: Nodes;
  snapshot: Snapshot | null;
  found: readonly GatheredPhone[];
}

/** Makes the reader. */
export function createGathering(needs: GatheringNeeds): ClusterReader {
  const { clock } = needs;
  const ending = new AbortController();
  const { signal } = ending;
  const clusters = new Map<string, Cluster>();

  function clusterFor(access: ClusterAccess): Cluster {
    const key = JSON.stringify([access.axl, access.snmp]);
    const known = clusters.get(access.id);
    if (known?.key === key) return known;
    known?.client.close();
    const cluster = { key, ...connect(access), snapshot: null, found: [] };
    clusters.set(access.id, cluster);
    return cluster;
  }

  function connect({ axl, snmp }: ClusterAccess): Pick<Cluster, "client" | "nodes"> {
    const { policy, authorities, snmpPort: port, allowDes } = needs;
    const client = createAxlClient(axl, { policy, clock, signal, authorities });
    return { client, nodes: createNodes(snmp, { policy, signal, port, allowDes }) };
  }

  async function read(access: ClusterAccess, asked: ReadingKind): Promise<ReadingSummary> {
    const began = clock.monotonicMs();
    const cluster = clusterFor(access);
    const { client } = cluster;
    const requestsBefore = client.requests;
    const run: Run = {
      ...cluster,
      clock,
      signal,
      rows: 0,
      warnings: [],
      onProgress: (p) => needs.onProgress(access.id, p),
    };
    const before = cluster.snapshot;
    const database =
      asked === "full" || before === null ? await readDatabase(run) : await readDifference(run, before, asked);
    const { kind } = database;
    const told = await readRegistrations(run, database, before);
    const after: Snapshot = { ...database, ...told };
    const found = kind === "full" ? [...after.phones.keys()] : differences(before as Snapshot, after);
    // From here on nothing fails.
    cluster.snapshot = after;
    cluster.found = found.map((name) => ({
      phone: after.phones.get(name) as Phone,
      registration: after.registrations.get(name) ?? null,
    }));
    const gone = kind === "full" || !before ? [] : [...before.phones.keys()].filter((name) => !after.phones.has(name));
    let registered = 0;
    for (const [name, each] of after.registrations) if (each.registered && after.phones.has(name)) registered++;
    return {
      ...{ kind, registered, gone, nodes: after.nodes, phones: after.phones.size, changed: cluster.found.length },
      ...{ version: await client.version(), requests: client.requests - requestsBefore, rows: run.rows },
      ...{ registrationSource: told.source, warnings: run.warnings, tookMs: Math.round(clock.monotonicMs() - began) },
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
    async test(access) {
      const probe = connect(access);
      return testConnection(probe, { clock, signal }).finally(() => probe.client.close());
    },
    async forget(clusterId) {
      clusters.get(clusterId)?.client.close();
      clusters.delete(clusterId);
    },
    async close() {
      ending.abort();
      for (const { client } of clusters.values()) client.close();
      clusters.clear();
    },
  };
}

interface Run {
  client: AxlClient;
  nodes: Nodes;
  clock: Clock;
  signal: AbortSignal;
  rows: number;
  warnings: string[];
  onProgress(progress: ReadingProgress): void;
}

type Database = Pick<Snapshot, "phones" | "nodes" | "mark"> & { kind: ReadingKind };

/** Everything that the cluster's database says. */
async function readDatabase(run: Run): Promise<Database> {
  const { client } = run;
  await client.version();
  // Taken first: what changes while it is read is read once more.
  const { mark } = await readChanges(client, null);
  const nodes = await readNodes(client);
  const onRows = (rows: number): void => {
    run.rows += rows;
    run.onProgress({ stage: "database", rows: run.rows });
  };
  const phones = await readPhones({ ...run, onRows });
  try {
    const lines = await readLines({ ...run, onRows });
    for (const [name, phone] of phones) phones.set(name, { ...phone, lines: lines.get(name) ?? [] });
  } catch (error) {
    // A cluster that does not let its user ask this question is read all the same.
    if (!(error instanceof ClusterFault && error.code === "fault")) throw error;
    run.warnings.push(`Directory numbers stay as they are: ${error.message}`);
  }
  return { kind: "full", phones, nodes, mark };
}

/** What the database says otherwise than before; everything, where that can't be told. */
async function readDifference(run: Run, before: Snapshot, kind: ReadingKind): Promise<Database> {
  if (kind === "partial") return { ...before, kind };
  if (before.mark === null) return readDatabase(run);
  const { mark, phones, isEverything } = await readChanges(run.client, before.mark);
  if (isEverything || phones.length > MOST_SINGLE) return readDatabase(run);
  const after = new Map(before.phones);
  const names = new Map([...before.phones].map(([name, { uuid }]) => [uuid, name]));
  for (const uuid of phones) {
    const phone = await readPhone(run.client, uuid);
    run.rows += 1;
    after.delete(names.get(uuid) ?? "");
    if (phone) after.set(phone.name.toUpperCase(), { ...phone, uuid });
  }
  return { kind, phones: after, nodes: before.nodes, mark };
}

/** Registrations by SNMP, unless no node's table has changed; by the second source where a node can't be asked. */
async function readRegistrations(
  run: Run,
  { phones, nodes }: Database,
  before: Snapshot | null,
): Promise<Pick<Snapshot, "registrations" | "states" | "source">> {
  run.onProgress({ stage: "registrations", rows: run.rows });
  try {
    const states = await run.nodes.states(nodes);
    if (before?.source === "snmp" && isSame(before.states, states))
      return { registrations: before.registrations, states, source: "snmp" };
    return { registrations: mergeRegistrations(await run.nodes.phones(nodes)), states, source: "snmp" };
  } catch (error) {
    const fault = asClusterFault(error, "SNMP");
    if (run.signal.aborted) throw fault;
    const names = [...phones.values()].map(({ name }) => name);
    const told = await askRegistrations(run.client, names, run).catch((second: unknown) => {
      const { message } = asClusterFault(second, run.client.place);
      throw new ClusterFault(fault.code, `${fault.message} The second source does not help: ${message}`, fault);
    });
    run.warnings.push(`Registrations come from the second source: ${fault.message}`);
    return { registrations: mergeRegistrations(told), states: [], source: "risport" };
  }
}

function isSame(some: readonly NodeState[], others: readonly NodeState[]): boolean {
  return some.length > 0 && JSON.stringify(some) === JSON.stringify(others);
}

/** Names of phones that are not as they were. */
function differences(before: Snapshot, after: Snapshot): string[] {
  return [...after.phones].flatMap(([name, phone]) => {
    const isSamePhone = before.phones.get(name) === phone;
    const [was, is] = [before.registrations.get(name), after.registrations.get(name)];
    const isSameRegistration =
      was === is || (was?.registered === is?.registered && was?.address === is?.address && was?.at === is?.at);
    return isSamePhone && isSameRegistration ? [] : [name];
  });
}
