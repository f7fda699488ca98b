import { sleep, type Timer } from "../lib/clock.ts";
import { ConflictError, UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../resources/callmgr/callmgr-onprem-servers.ts";
import { type ClusterRow, clusterAccessOf, clustersGatheredBy } from "./cluster-access.ts";
import { type ClusterErrorCode, toClusterError } from "./cluster-error.ts";
import type { ReadingProgress } from "./cluster-reader.ts";
import type { ReadingKind } from "./cluster-types.ts";
import type { ConnectionTest } from "./connection-test.ts";
import { type PhoneCacheUpdateDeps, recordUpdateFailure, updatePhoneCache } from "./phone-cache-update.ts";
import { markOrphansDefunct, replayJournals } from "./phone-writer.ts";

/** Begins to call `work` at the times of a cron expression; the function returned ends it. */
export type ScheduleCron = (expression: string, work: () => void) => () => void;

/** What the cache is made of. */
export interface PhoneCacheDeps extends PhoneCacheUpdateDeps {
  events: Events;
  schedule: ScheduleCron;
  /** When each kind of reading is made, as cron expressions; null: only when asked for. */
  times: Readonly<Record<ReadingKind, string | null>>;
}

/** How the phones of one cluster stand. Times are epoch ms, null where there was none yet. */
export interface PhoneCacheState {
  /** `elsewhere`: another appliance, or none, gathers the phones of the cluster. */
  state: "idle" | "reading" | "writing" | "failed" | "elsewhere";
  /** Kind of the reading under way, or of the last one. */
  kind: ReadingKind | null;
  startedAt: number | null;
  endedAt: number | null;
  lastSuccessAt: number | null;
  /** When a reading that failed is made again. */
  nextTryAt: number | null;
  /** Rows that the cluster's database sent so far. */
  rowsRead: number;
  /** Phones that were written so far, and how many there are to be written. */
  phonesWritten: number;
  phonesToWrite: number;
  /** Of the last reading that succeeded. */
  phones: number | null;
  registered: number | null;
  code: ClusterErrorCode | null;
  /** What is wrong, for people; null when nothing is. */
  reason: string | null;
  /** What the last reading did without. */
  warnings: readonly string[];
}

/** The phones of all clusters that this appliance gathers. */
export interface PhoneCache {
  /**
   * Writes to its end what an earlier run kept, reads every cluster once, then by the clock and when a cluster is changed.
   * Resolves once the former is done, or soon.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves once nothing is being read or written. */
  idle(): Promise<void>;
  state(clusterId: string): PhoneCacheState;
  /** Begins a reading, or notes that one more is wanted. Throws ConflictError where another appliance gathers the phones. */
  update(cluster: ClusterRow, kind: ReadingKind): PhoneCacheState;
  /** Reads all clusters anew; how many phones each has. Throws UpstreamError that names those which could not be read. */
  rebuild(): Promise<Record<string, unknown>>;
  /** Tries everything that reading the cluster needs; changes nothing. */
  test(cluster: ClusterRow): Promise<ConnectionTest>;
  /** Takes how far a reading got. */
  reportProgress(clusterId: string, progress: ReadingProgress): void;
}

/** Pauses before a reading that failed is made again, the last one over and over. own choice */
const BACKOFF_MS = [30_000, 60_000, 120_000, 300_000];
/** A start waits no longer for what an earlier run kept. own choice: some 5,000 phones */
const REPLAY_TIMEOUT_MS = 3_000;
/** A cluster that is changed is read once nothing was changed for so long. */
const CHANGE_DEBOUNCE_MS = 3_000;
const KINDS_BY_SCOPE: readonly ReadingKind[] = ["partial", "delta", "full"];

interface ClusterState {
  state: PhoneCacheState;
  running: Promise<void> | null;
  wanted: ReadingKind | null;
  failures: number;
  timer: Timer | null;
}

/** Makes the cache. One reading of a cluster is under way at a time; clusters don't wait for each other. */
export function createPhoneCache(needs: PhoneCacheDeps): PhoneCache {
  const { store, clock, log, events, reader, endpointId } = needs;
  const abortController = new AbortController();
  const { signal } = abortController;
  const clusters = new Map<string, ClusterState>();
  let unsubscribes: (() => void)[] = [];
  let journalReplay: Promise<void> = Promise.resolve();
  let orphanQueue: Promise<unknown> = Promise.resolve();

  function stateOf(id: string): ClusterState {
    const known = clusters.get(id);
    if (known) return known;
    const made: ClusterState = { state: { ...INITIAL_STATE }, running: null, wanted: null, failures: 0, timer: null };
    clusters.set(id, made);
    return made;
  }

  function requestReading(id: string, kind: ReadingKind): void {
    if (signal.aborted) return;
    const each = stateOf(id);
    each.timer?.cancel();
    each.timer = null;
    if (each.wanted === null || KINDS_BY_SCOPE.indexOf(kind) > KINDS_BY_SCOPE.indexOf(each.wanted)) each.wanted = kind;
    each.running ??= run(id, each).finally(() => {
      each.running = null;
      if (each.wanted !== null && !signal.aborted) requestReading(id, each.wanted);
    });
  }

  async function run(id: string, each: ClusterState): Promise<void> {
    await journalReplay;
    while (each.wanted !== null && !signal.aborted) {
      const kind = each.wanted;
      each.wanted = null;
      const cluster = clustersGatheredBy(store, endpointId()).find((row) => row.id === id);
      if (!cluster) return removeCluster(id);
      await readOnce(cluster, each, kind);
    }
  }

  async function readOnce(cluster: ClusterRow, each: ClusterState, kind: ReadingKind): Promise<void> {
    const { phones, registered, lastSuccessAt } = each.state;
    each.state = { ...each.state, ...READING_STATE, kind, startedAt: clock.now() };
    const onWriting = (phonesWritten: number, phonesToWrite: number): void =>
      void Object.assign(each.state, { state: "writing", phonesWritten, phonesToWrite });
    try {
      const { summary } = await updatePhoneCache(needs, cluster, kind, { signal, onWriting });
      const found = { phones: summary.phones, registered: summary.registered, warnings: summary.warnings };
      const now = clock.now();
      Object.assign(each.state, { ...IDLE_STATE, ...found, kind: summary.kind, endedAt: now, lastSuccessAt: now });
      each.failures = 0;
      reportFault(cluster.id, null);
    } catch (error) {
      if (signal.aborted) return;
      await handleFailure(cluster, each, kind, error);
      Object.assign(each.state, { phones, registered, lastSuccessAt });
    }
  }

  async function handleFailure(
    cluster: ClusterRow,
    each: ClusterState,
    kind: ReadingKind,
    error: unknown,
  ): Promise<void> {
    const fault = toClusterError(error, cluster.name);
    const { code, message } = fault;
    const pauseMs = BACKOFF_MS[Math.min(each.failures, BACKOFF_MS.length - 1)] as number;
    const isNews = each.failures === 0 || each.state.code !== code;
    each.failures += 1;
    const now = clock.now();
    Object.assign(each.state, { state: "failed", code, reason: message, endedAt: now, nextTryAt: now + pauseMs });
    log.warn({ callmgrClusterId: cluster.id, code, reason: message }, "the phones of a cluster could not be read");
    reportFault(cluster.id, `The phones of ${cluster.name} could not be read: ${message}`);
    each.timer = clock.after(pauseMs, () => requestReading(cluster.id, kind), { background: true });
    if (isNews) await recordUpdateFailure(needs, cluster, kind, fault).catch((trouble: unknown) => onError(trouble));
  }

  function reportFault(code: string, reason: string | null): void {
    events.emit("fault.changed", { alarm: "phone_cache_update_failed", code, endpointId: null, reason });
  }

  function removeCluster(id: string): void {
    const each = clusters.get(id);
    each?.timer?.cancel();
    clusters.delete(id);
    reportFault(id, null);
    reader.discard(id).catch(onError);
    if (store.get(callmgrClusters, id)) return;
    // What is being written of it comes to its end first.
    const end = (): Promise<void> => markOrphansDefunct({ ...needs, signal }, id);
    orphanQueue = Promise.all([orphanQueue, each?.running]).then(end).catch(onError);
  }

  function onError(error: unknown): void {
    if (!signal.aborted) log.error({ err: error }, "phones of call managers were not brought in line");
  }

  function requestAllReadings(kind: ReadingKind): void {
    for (const { id } of clustersGatheredBy(store, endpointId())) requestReading(id, kind);
  }

  /** A cluster or its servers were changed; people change one field after the other. */
  function reviewClusters(): void {
    const here = new Map(clustersGatheredBy(store, endpointId()).map((row) => [row.id, row]));
    for (const id of clusters.keys()) if (!here.has(id)) removeCluster(id);
    for (const id of here.keys()) {
      const each = stateOf(id);
      each.timer?.cancel();
      each.timer = clock.after(CHANGE_DEBOUNCE_MS, () => requestReading(id, "full"), { background: true });
    }
  }

  async function waitUntilIdle(): Promise<void> {
    for (;;) {
      const running = [...clusters.values()].flatMap((each) => each.running ?? []);
      if (running.length === 0) return;
      await Promise.all(running);
    }
  }

  return {
    async start() {
      journalReplay = replayJournals({ ...needs, signal }).catch(onError);
      const changed = events.on("row.changed", ({ resource }) => {
        if (resource === callmgrClusters.name || resource === callmgrOnpremServers.name) reviewClusters();
      });
      const timed = KINDS_BY_SCOPE.flatMap((kind) => {
        const at = needs.times[kind];
        return at === null ? [] : [needs.schedule(at, () => requestAllReadings(kind))];
      });
      unsubscribes = [changed, ...timed];
      requestAllReadings("full");
      const enough = new AbortController();
      await Promise.race([journalReplay, sleep(clock, REPLAY_TIMEOUT_MS, enough.signal).catch(() => undefined)]);
      enough.abort();
    },
    async stop() {
      abortController.abort();
      for (const end of unsubscribes) end();
      for (const { timer } of clusters.values()) timer?.cancel();
      await reader.close();
      await Promise.all([waitUntilIdle(), journalReplay]);
      await orphanQueue;
    },
    async idle() {
      await Promise.all([waitUntilIdle(), journalReplay]);
      await orphanQueue;
    },
    state(clusterId) {
      const isHere = clustersGatheredBy(store, endpointId()).some(({ id }) => id === clusterId);
      return isHere ? { ...stateOf(clusterId).state } : { ...INITIAL_STATE, state: "elsewhere" };
    },
    update(cluster, kind) {
      if (!clustersGatheredBy(store, endpointId()).some(({ id }) => id === cluster.id))
        throw new ConflictError("This appliance does not gather the phones of the cluster.");
      requestReading(cluster.id, kind);
      return { ...stateOf(cluster.id).state };
    },
    async rebuild() {
      requestAllReadings("full");
      await waitUntilIdle();
      const gathered = clustersGatheredBy(store, endpointId()).map(({ id, name }) => ({
        id,
        name,
        ...clusters.get(id)?.state,
      }));
      const wrong = gathered.flatMap(({ reason = null }) => (reason === null ? [] : [reason]));
      if (wrong.length > 0) throw new UpstreamError("upstream", wrong.join(" "));
      return { clusters: gathered.map(({ id, name, phones = null }) => ({ callmgrClusterId: id, name, phones })) };
    },
    test: (cluster) => reader.testConnection(clusterAccessOf(cluster, store.secrets)),
    reportProgress(clusterId, { rows }) {
      const each = clusters.get(clusterId);
      if (each) each.state.rowsRead = rows;
    },
  };
}

const IDLE_STATE = { state: "idle", code: null, reason: null, nextTryAt: null, warnings: [] } as const;

const READING_STATE = {
  ...{ endedAt: null, nextTryAt: null, rowsRead: 0, phonesWritten: 0, phonesToWrite: 0 },
  state: "reading",
} as const;

const INITIAL_STATE: PhoneCacheState = {
  ...{ ...IDLE_STATE, kind: null, startedAt: null, endedAt: null, lastSuccessAt: null },
  ...{ rowsRead: 0, phonesWritten: 0, phonesToWrite: 0, phones: null, registered: null },
};
