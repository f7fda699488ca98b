import type { Timer } from "../lib/clock.ts";
import { ConflictError, UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { within } from "../lib/waits.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../resources/callmgr/callmgr-onprem-servers.ts";
import { type ClusterRow, clusterAccessOf, clustersGatheredBy } from "./cluster-access.ts";
import { type ClusterErrorCode, toClusterError } from "./cluster-error.ts";
import type { ClusterReader, ClusterReaderDeps } from "./cluster-reader.ts";
import type { ReadingKind } from "./cluster-types.ts";
import type { ConnectionTest } from "./connection-test.ts";
import { type PhoneCacheUpdateDeps, recordUpdateFailure, updatePhoneCache } from "./phone-cache-update.ts";
import { markOrphansDefunct, replayJournals } from "./phone-writer.ts";

/** Calls `work` at the times of a cron expression; the returned function stops it. */
export type ScheduleCron = (expression: string, work: () => void) => () => void;

export interface PhoneCacheDeps extends Omit<PhoneCacheUpdateDeps, "reader"> {
  createReader(onProgress: ClusterReaderDeps["onProgress"]): ClusterReader;
  events: Events;
  schedule: ScheduleCron;
  /** Cron expression per kind of reading; null: only on request. */
  times: Readonly<Record<ReadingKind, string | null>>;
}

/** State of the phones of one cluster. Times are epoch ms, null if there was none yet. */
export interface PhoneCacheState {
  /** `elsewhere`: another appliance, or none, reads the phones of the cluster. */
  state: "idle" | "reading" | "writing" | "failed" | "elsewhere";
  /** Kind of the current reading, or of the last one. */
  kind: ReadingKind | null;
  startedAt: number | null;
  endedAt: number | null;
  lastSuccessAt: number | null;
  /** Time of the next retry after a failed reading. */
  nextTryAt: number | null;
  /** Database rows received so far. */
  rowsRead: number;
  /** Phones written so far, and number of phones to write. */
  phonesWritten: number;
  phonesToWrite: number;
  /** Of the last successful reading. */
  phones: number | null;
  registered: number | null;
  code: ClusterErrorCode | null;
  /** Error text for people; null without an error. */
  reason: string | null;
  /** Incomplete parts of the last reading. */
  warnings: readonly string[];
}

/** Phones of all clusters that this appliance reads. */
export interface PhoneCache {
  /**
   * Replays the journals of an earlier run, reads every cluster once, then on schedule and after changes of a cluster. Resolves
   * once the journals are replayed, or after a timeout.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when nothing is being read or written. */
  idle(): Promise<void>;
  state(clusterId: string): PhoneCacheState;
  /** Starts a reading, or queues another one. Throws ConflictError if another appliance reads the phones. */
  update(cluster: ClusterRow, kind: ReadingKind): PhoneCacheState;
  /** Reads all clusters from scratch; returns the number of phones of each. Throws UpstreamError that names those that failed. */
  rebuild(): Promise<Record<string, unknown>>;
  /** Runs the connection test of a cluster; changes nothing. */
  test(cluster: ClusterRow): Promise<ConnectionTest>;
}

/** Backoff after failed readings; the last value repeats. @source docs/decisions/0205-call-manager.md, Reading */
const BACKOFF_MS = [30_000, 60_000, 120_000, 300_000];
/** Longest delay of a start by journals: some 5,000 phones. @source docs/decisions/0205-call-manager.md, Reading */
const REPLAY_TIMEOUT_MS = 3_000;
/** Debounce: a changed cluster is read this long after the last change. */
const CHANGE_DEBOUNCE_MS = 3_000;
const KINDS_BY_SCOPE: readonly ReadingKind[] = ["partial", "delta", "full"];

interface ClusterState {
  state: PhoneCacheState;
  running: Promise<void> | null;
  wanted: ReadingKind | null;
  failures: number;
  timer: Timer | null;
}

/** One reading per cluster at a time; clusters do not wait for each other. */
export function createPhoneCache({ createReader, ...given }: PhoneCacheDeps): PhoneCache {
  const { store, clock, log, events, endpointId } = given;
  const abortController = new AbortController();
  const { signal } = abortController;
  const clusters = new Map<string, ClusterState>();
  const reader = createReader((clusterId, { rows }) => {
    const each = clusters.get(clusterId);
    if (each) each.state.rowsRead = rows;
  });
  const deps = { ...given, reader };
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
      const { summary } = await updatePhoneCache(deps, cluster, kind, { signal, onWriting });
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
    const clusterError = toClusterError(error, cluster.name);
    const { code, message } = clusterError;
    const pauseMs = BACKOFF_MS[Math.min(each.failures, BACKOFF_MS.length - 1)] as number;
    const isNews = each.failures === 0 || each.state.code !== code;
    each.failures += 1;
    const now = clock.now();
    Object.assign(each.state, { state: "failed", code, reason: message, endedAt: now, nextTryAt: now + pauseMs });
    log.warn(
      { event: "call_manager.reading_failed", callmgrClusterId: cluster.id, code, reason: message },
      "failed to read the phones of a cluster, retrying",
    );
    reportFault(cluster.id, sentence("cluster.reading-failed", { name: cluster.name, message }));
    each.timer = clock.after(pauseMs, () => requestReading(cluster.id, kind), { background: true });
    if (isNews) await recordUpdateFailure(deps, cluster, kind, clusterError).catch((cause: unknown) => onError(cause));
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
    // A write in progress completes first.
    const end = (): Promise<void> => markOrphansDefunct({ ...deps, signal }, id);
    orphanQueue = Promise.all([orphanQueue, each?.running]).then(end).catch(onError);
  }

  function onError(error: unknown): void {
    if (!signal.aborted)
      log.error({ event: "call_manager.update_failed", err: error }, "failed to update the phones of a cluster");
  }

  function requestAllReadings(kind: ReadingKind): void {
    for (const { id } of clustersGatheredBy(store, endpointId())) requestReading(id, kind);
  }

  /** A cluster or its servers changed; debounced, since people change one field after another. */
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
      journalReplay = replayJournals({ ...deps, signal }).catch(onError);
      const changed = events.on("row.changed", ({ resource }) => {
        if (resource === callmgrClusters.name || resource === callmgrOnpremServers.name) reviewClusters();
      });
      const timed = KINDS_BY_SCOPE.flatMap((kind) => {
        const at = deps.times[kind];
        return at === null ? [] : [deps.schedule(at, () => requestAllReadings(kind))];
      });
      unsubscribes = [changed, ...timed];
      requestAllReadings("full");
      await within(clock, journalReplay, { timeoutMs: REPLAY_TIMEOUT_MS });
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
        throw new ConflictError(sentence("error.another-appliance-reads-the-phones-of-this-cluster"));
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
      const failures = gathered.flatMap(({ reason = null }) => (reason === null ? [] : [reason]));
      if (failures.length > 0) throw new UpstreamError("upstream", failures.join(" "));
      return { clusters: gathered.map(({ id, name, phones = null }) => ({ callmgrClusterId: id, name, phones })) };
    },
    test: (cluster) => reader.testConnection(clusterAccessOf(cluster, store.secrets)),
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
