import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { createPriorityTaskQueue } from "../../lib/priority-task-queue.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { BlobStore } from "../files/blob-store.ts";
import { SITE_FILE_REQUESTS } from "../files/file-requests.ts";
import { createFileTransfer, type FileTransfer } from "../files/file-transfer.ts";
import { parseFrame } from "../protocol/frame-schemas.ts";
import type { DownstreamPage, Frame, FrameTransport, Lease, SyncLimits, SyncWelcome } from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { bucketIndex } from "../protocol/row-digests.ts";
import {
  putRecord,
  type RowBody,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";
import { createFlowControlWindow } from "../transport/flow-control-window.ts";
import { type CloudTime, createCloudTime } from "./cloud-time.ts";
import { invalidateArmedCommands, type ResumeCommand, receiveCommand, resumeCommands } from "./command-inbox.ts";
import { type CommandScheduler, type CommandSchedulerDeps, createCommandScheduler } from "./command-scheduler.ts";
import { computeLocalBuckets, findDifferingTypes, recordDigestMismatch } from "./digest-check.ts";
import { applyBatch, applyRepair, type StagedPageResult, stagePage, stageSnapshotPage } from "./downstream-feed.ts";
import { handleWelcome } from "./handshake.ts";
import { isLinkCommand, type LinkCommandType, runLinkCommand } from "./link-commands.ts";
import { recordAcked } from "./outbox.ts";
import { createPageBatcher } from "./page-batcher.ts";
import { pruneSiteData } from "./retention.ts";
import { resendStateBatch } from "./state-resend.ts";
import {
  type ActivityContext,
  enqueueChangedActivities,
  recordMismatchActivities,
  recordSentActivities,
} from "./sync-activities.ts";
import { findSyncError } from "./sync-errors.ts";
import { buildHello, initializeSyncState, readSavedCloudTime, readSyncState } from "./sync-state.ts";
import { SYNC_STATE } from "./tables.ts";
import { createUpstreamSender, type FeedConnection } from "./upstream-sender.ts";

export interface SiteSyncDeps extends Pick<CommandSchedulerDeps, "play" | "hasContact"> {
  store: TransactionStore;
  newId(): string;
  blobs: BlobStore;
  /** Fields common to all activities of this appliance: extension and endpoint. */
  activityFields: RowBody;
  /** Outcome of a remote command that was running when the previous process ended. */
  resumed: ResumeCommand;
  clock: Pick<Clock, "now" | "monotonicMs" | "after" | "every">;
  types: ReplicatedTypes;
  limits: SyncLimits;
  endpoint: string;
  /** Activation groups of this appliance. */
  groups(): readonly string[];
  /** Rows of the cloud are applied up to this sequence number. */
  onCheckpoint(applied: number): void;
  /** Digests of these types differed; `again` if a second mismatch within 24 h causes a full resync. */
  onMismatch(types: readonly string[], again: boolean): void;
  onLease(lease: Lease, until: number): void;
  /** Why this appliance is not in sync with the cloud; null once it is. Called on changes. */
  onSyncError(reason: string | null): void;
  onFault(error: unknown): void;
}

/** The appliance's side of the link; works without the cloud. */
export interface SiteSync {
  /** Completes what a crash interrupted and resumes commands. Must be called first. */
  start(): Promise<void>;
  /** Starts a session on a new connection. Frames of older ones are ignored. */
  connected(wire: FrameTransport): void;
  /** Handles a received value, valid or not. */
  frame(wire: FrameTransport, value: unknown): void;
  disconnected(wire: FrameTransport): void;
  /** There is something to send. */
  wake(): void;
  /** A peer plays this command. */
  peerStarted(cid: string): void;
  /** Upper bound of cloud time, epoch ms; null if unknown. */
  latestCloudTime(): number | null;
  stop(): void;
}

/** @source docs/decisions/0040-replication.md, Section 6, liveness */
const PING_MS = 20_000;
/** Delay that groups activity updates. @source docs/decisions/0300-sync-limits.md */
const ACTIVITY_DELAY_MS = 250;
/**
 * A third of the lease, so that one lost ping does not lose it.
 * @source docs/decisions/0040-replication.md, Section 9
 */
const LEASE_RENEW_MS = 5_000;

interface HubConnection extends FeedConnection {
  askedAt: number;
  files: FileTransfer | null;
  /** Since when this appliance is behind the cloud's feed; monotonic ms, null if it is not. */
  behindSince: number | null;
  /** Commands received before the welcome was handled. */
  early: Frame[];
}

/** Interval of checks for the first packet of an emergency. @source docs/decisions/0300-sync-limits.md */
const POLL_MS = 2;

export function createSiteSync(deps: SiteSyncDeps): SiteSync {
  const { store, clock, types, limits } = deps;
  const tasks = createPriorityTaskQueue(deps.onFault);
  let connection: HubConnection | null = null;
  let time: CloudTime = createCloudTime(clock, null);
  let scheduler: CommandScheduler | null = null;
  const timers: Timer[] = [];
  let isWoken = false;
  let syncError: string | null = null;
  let activityTimer: Timer | null = null;
  /** A running command ends with the next checkpoint. */
  let awaitsCheckpoint = true;

  const pages = createPageBatcher(tasks, (wire, received) => dropOnError(wire, onPages(wire, received)));
  const resendSomeState = () => store.transact(() => runBatches(resendStateBatch, true));
  const sender = createUpstreamSender({
    store,
    limits,
    connection: () => connection,
    resendState: resendSomeState,
    yieldToUrgent,
  });
  const activityContext = (): ActivityContext => ({
    types,
    commonFields: deps.activityFields,
    now: clock.now(),
    newId: deps.newId,
  });
  const currentConnection = (wire: FrameTransport): HubConnection | null =>
    connection?.wire === wire ? connection : null;
  const drop = (wire: FrameTransport, code: string): void => {
    if (currentConnection(wire)) connection = null;
    wire.close(code);
  };
  /** Rows that could not be stored count as not received: the next connection starts at the stored position. */
  const dropOnError = (wire: FrameTransport, job: Promise<void>): Promise<void> =>
    job.catch((error: unknown) => {
      drop(wire, "refused");
      throw error;
    });
  const enqueueFrame = (wire: FrameTransport, frame: Frame, urgent = false): void =>
    tasks.add(() => dropOnError(wire, onFrame(wire, frame)), urgent);

  async function start(): Promise<void> {
    await store.transact(() => initializeSyncState(deps.endpoint, types.fingerprint));
    time = createCloudTime(clock, await store.transact(() => readSavedCloudTime(clock.now())));
    const play: CommandSchedulerDeps["play"] = (command, on) =>
      isLinkCommand(command) ? startLinkCommand(command.kind, on) : deps.play(command, on);
    scheduler = createCommandScheduler({
      ...deps,
      play,
      journal: activityContext,
      time,
      onReported: scheduleActivityReport,
    });
    await applyCheckpoint();
    const armed = await store.transact(() => resumeCommands(activityContext(), deps.resumed));
    for (const command of armed) scheduler.arm(command, true);
    scheduleActivityReport();
    timers.push(clock.every(PING_MS, () => tasks.add(tick)));
    timers.push(clock.every(LEASE_RENEW_MS, () => deps.groups().length > 0 && ping()));
  }

  /** Runs urgent tasks; an emergency has the machine to itself until its first packet. */
  async function yieldToUrgent(): Promise<void> {
    await tasks.runUrgent();
    while (scheduler?.isEmergencyStarting()) {
      await new Promise<void>((over) => clock.after(POLL_MS, over, { background: true }));
      await tasks.runUrgent();
    }
  }

  /** `between` is called between transactions and lets other tasks run. */
  async function applyCheckpoint(between?: () => Promise<void>): Promise<void> {
    while (!(await store.transact(() => runBatches(applyBatch, between !== undefined)))) await between?.();
  }

  /** Runs as many batches as one transaction may have, none if an urgent task is waiting; true when all are done. */
  function* runBatches(
    slice: (of: ActivityContext, limits: SyncLimits) => TransactionProgram<boolean>,
    givesWay: boolean,
  ): TransactionProgram<boolean> {
    const began = clock.monotonicMs();
    if (givesWay && tasks.hasUrgent()) return false;
    do {
      if (yield* slice(activityContext(), limits)) return true;
    } while (clock.monotonicMs() - began < limits.applyBatchMs);
    return false;
  }

  async function tick(): Promise<void> {
    await store.transact(() => pruneSiteData(time.latestObserved()));
    await store.transact(() => enqueueChangedActivities(activityContext()));
    await checkSyncErrors();
    if (!connection?.isLive) await saveCloudTime();
    await sender.sendAll();
    await connection?.files?.requestNext();
    if (deps.groups().length === 0) ping();
  }

  async function checkSyncErrors(): Promise<void> {
    const behindMs = clock.monotonicMs() - (connection?.behindSince ?? clock.monotonicMs());
    const found = await store.read(() => findSyncError(time.latest() ?? clock.now(), behindMs));
    if (found !== syncError) deps.onSyncError(found);
    syncError = found;
  }

  /** Starts a command that concerns the link itself; a resync ends with its checkpoint. */
  function startLinkCommand(kind: LinkCommandType, on: Parameters<CommandSchedulerDeps["play"]>[1]): () => void {
    tasks.add(async () => {
      const details = await runLinkCommand(kind, {
        store,
        journal: activityContext(),
        cloudTime: time.latestObserved(),
        yieldToUrgent,
      });
      if (details) return on.ended("done", details);
      awaitsCheckpoint = true;
      if (connection) drop(connection.wire, "restored");
    });
    return () => {};
  }

  function ping(): void {
    if (connection?.isLive) connection.wire.send({ t: "ping", t0: clock.monotonicMs(), groups: deps.groups() });
  }

  async function sayHello(wire: FrameTransport): Promise<void> {
    // A checkpoint that could not be applied (for example on a full disk) blocks all that follows.
    if ((await store.read(readSyncState)).applyingCheckpoint) await applyCheckpoint(yieldToUrgent);
    const hello = await store.read(() => buildHello(types.cloudOwned, limits.credit));
    const live = currentConnection(wire);
    if (!live) return;
    live.askedAt = clock.monotonicMs();
    wire.send(hello);
  }

  async function onWelcome(live: HubConnection, welcome: SyncWelcome): Promise<void> {
    const accept = () => store.transact(() => handleWelcome(welcome, activityContext()));
    let result = await accept();
    while (result === "more") result = await accept();
    if (result === "restored")
      scheduler?.discard(await store.transact(() => invalidateArmedCommands(activityContext())));
    if (result !== "live") return drop(live.wire, result);
    await observeCloudTime(welcome.ct, live.askedAt);
    scheduler?.markVerified();
    live.sent = { bulk: welcome.up.bulk.hw, hot: welcome.up.hot.hw };
    live.window = createFlowControlWindow(welcome.credit);
    const send = (frame: Frame) => currentConnection(live.wire) && live.wire.send(frame);
    const onBadFile = (sha256: string): void =>
      deps.onFault(
        new UpstreamError("upstream", sentence("error.the-content-of-file-sha256-does-not-match-its-hash", { sha256 })),
      );
    const { blobs } = deps;
    live.files = createFileTransfer({ store, limits, send, onBadFile, blobs, of: SITE_FILE_REQUESTS, holder: "" });
    live.isLive = true;
    for (const frame of live.early) enqueueFrame(live.wire, frame, true);
    await sender.sendAll();
    await live.files.requestNext();
  }

  async function observeCloudTime(ct: number, askedAt: number): Promise<void> {
    time.observe(ct, askedAt);
    await saveCloudTime();
  }

  /** Saved regularly, because the wall clock may have been set since. */
  async function saveCloudTime(): Promise<void> {
    const kept = time.toSaved();
    if (!kept) return;
    await store.transact(function* () {
      yield* putRecord(SYNC_STATE, {
        ...(yield* readSyncState()),
        cloudTime: kept.cloudTimeMs,
        cloudTimeWallClock: kept.wallClockMs,
      });
    });
  }

  function wake(): void {
    if (isWoken) return;
    isWoken = true;
    tasks.add(() => {
      isWoken = false;
      return sender.sendAll();
    }, true);
  }

  /** Outcomes are sent at once; the activities shown to users follow in groups. */
  function scheduleActivityReport(): void {
    wake();
    activityTimer ??= clock.after(ACTIVITY_DELAY_MS, () => {
      activityTimer = null;
      tasks.add(async () => {
        await store.transact(() => enqueueChangedActivities(activityContext()));
        await sender.sendAll();
      });
    });
  }

  async function handlePageResult(
    live: HubConnection,
    frame: Frame & { t: "rows" | "snap" },
    result: StagedPageResult,
  ): Promise<void> {
    if (result === "gap") return drop(live.wire, "gap");
    if (result === "marked") {
      const { to, mark } = frame as DownstreamPage;
      await applyCheckpoint(yieldToUrgent);
      deps.onCheckpoint(to);
      if (mark?.digests) await compareDigests(live, mark.digests);
    }
    const to = frame.t === "rows" ? frame.to : frame.h0;
    if (currentConnection(live.wire)) live.wire.send({ t: "ack", feed: "down.bulk", to });
    await live.files?.requestNext();
    if (result !== "marked") return;
    // A checkpoint ends the commands that wait for one.
    if (awaitsCheckpoint) scheduleActivityReport();
    awaitsCheckpoint = false;
    await sender.sendAll();
  }

  /** Stages pages up to the first checkpoint, which is applied before the next page. */
  async function onPages(wire: FrameTransport, received: readonly DownstreamPage[]): Promise<void> {
    for (let at = 0; at < received.length; ) {
      await yieldToUrgent();
      const live = currentConnection(wire);
      if (!live?.isLive) return;
      const results = await store.transact(function* () {
        const stored: StagedPageResult[] = [];
        for (const page of tasks.hasUrgent() ? [] : received.slice(at)) {
          stored.push(yield* stagePage(page, types));
          if (stored.at(-1) !== "staged") break;
        }
        return stored;
      });
      // Also after a disconnect: a stored checkpoint is applied.
      for (const result of results) {
        await handlePageResult(live, received[at] as DownstreamPage, result);
        at += 1;
      }
    }
  }

  async function compareDigests(
    live: HubConnection,
    digests: NonNullable<DownstreamPage["mark"]>["digests"] & object,
  ): Promise<void> {
    const different = await findDifferingTypes({ store, clock, yieldToUrgent }, types.cloudOwned, digests);
    if (different.length === 0) return;
    const again = await store.transact(function* () {
      yield* recordMismatchActivities(activityContext(), different);
      return yield* recordDigestMismatch(time.latest() ?? clock.now());
    });
    deps.onMismatch(different, again);
    if (again) return drop(live.wire, "restored");
    for (const type of different) {
      const own = await computeLocalBuckets({ store, clock, yieldToUrgent }, type);
      if (currentConnection(live.wire)) live.wire.send({ t: "digest", type, ...own });
    }
  }

  async function onFrame(wire: FrameTransport, frame: Frame): Promise<void> {
    const live = currentConnection(wire);
    if (!live) return;
    if (!live.isLive && frame.t !== "welcome") return;
    switch (frame.t) {
      case "welcome":
        return onWelcome(live, frame);
      case "snap":
        return handlePageResult(live, frame, await store.transact(() => stageSnapshotPage(frame, types)));
      case "cmd": {
        const { armed, silence } = await store.transact(() => receiveCommand(frame, activityContext()), "emergency");
        if (armed) scheduler?.arm(armed, false);
        if (silence) scheduler?.silence(silence);
        if (armed?.needs) await live.files?.requestNext();
        return sender.sendAll();
      }
      case "heard":
        return scheduler?.peerStarted(frame.cid);
      case "ack":
        live.window.acknowledged();
        await store.transact(function* () {
          yield* recordSentActivities(
            activityContext(),
            yield* recordAcked(frame.feed === "up.hot" ? "hot" : "bulk", frame.to),
          );
        });
        return sender.sendPending();
      case "pong": {
        await observeCloudTime(frame.ct, frame.t0);
        scheduler?.markVerified();
        const { applied } = await store.read(readSyncState);
        live.behindSince = applied < frame.head ? (live.behindSince ?? clock.monotonicMs()) : null;
        for (const lease of frame.leases) deps.onLease(lease, frame.t0 + lease.ttlMs);
        return;
      }
      case "repair": {
        const parts = new Set(frame.buckets);
        return void (await store.transact(() =>
          applyRepair(frame, (id) => parts.has(bucketIndex(id)), activityContext()),
        ));
      }
      case "chunk":
        return live.files?.handleChunk(frame);
      case "need":
        return live.files?.handleRequest(frame.sha256, frame.from);
      case "err":
        return drop(wire, frame.code);
    }
  }

  return {
    start,
    connected(wire) {
      const window = createFlowControlWindow({ frames: 0, bytes: 0 });
      const sent = { bulk: 0, hot: 0 };
      connection = { wire, askedAt: 0, isLive: false, window, files: null, sent, behindSince: null, early: [] };
      tasks.add(() => dropOnError(wire, sayHello(wire)));
    },
    frame(wire, value) {
      const live = currentConnection(wire);
      const read = parseFrame(value, "hub");
      if (live && "error" in read) {
        wire.send({ t: "err", code: "schema", reason: read.error });
        deps.onFault(
          new UpstreamError(
            "upstream",
            sentence("error.the-cloud-sent-an-invalid-frame-problem", { problem: read.error }),
          ),
        );
        return drop(wire, "schema");
      }
      const frame = "error" in read ? null : read.frame;
      if (!frame) return;
      const isUrgent = frame.t === "cmd" || frame.t === "heard";
      // Commands overtake everything else, except the welcome and each other.
      if (live && isUrgent && !live.isLive) live.early.push(frame);
      else if (isUrgent) enqueueFrame(wire, frame, true);
      else if (frame.t === "rows" && frame.feed === "down.bulk") pages.add(wire, frame);
      else {
        pages.closeBatch();
        enqueueFrame(wire, frame);
      }
    },
    disconnected(wire) {
      if (currentConnection(wire)) connection = null;
    },
    wake,
    peerStarted: (cid) => scheduler?.peerStarted(cid),
    latestCloudTime: () => time.latest(),
    stop() {
      tasks.stop();
      scheduler?.stop();
      for (const timer of timers) timer.cancel();
      activityTimer?.cancel();
      connection = null;
    },
  };
}
