import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { createPriorityTaskQueue } from "../../lib/priority-task-queue.ts";
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
import { type ActivityContext, enqueueChangedActivities, recordSentActivities } from "./sync-activities.ts";
import { findSyncError } from "./sync-errors.ts";
import { buildHello, initializeSyncState, readSavedCloudTime, readSyncState } from "./sync-state.ts";
import { SYNC_STATE } from "./tables.ts";
import { createUpstreamSender, type FeedConnection } from "./upstream-sender.ts";

/** What the appliance's side of the link is made of. */
export interface SiteSyncDeps extends Pick<CommandSchedulerDeps, "play" | "hasContact"> {
  store: TransactionStore;
  newId(): string;
  blobs: BlobStore;
  /** What all activities of this appliance have: extension and endpoint. */
  activityFields: RowBody;
  /** What became of an order that was under way when the last process ended. */
  resumed: ResumeCommand;
  clock: Pick<Clock, "now" | "monotonicMs" | "after" | "every">;
  types: ReplicatedTypes;
  limits: SyncLimits;
  endpoint: string;
  /** Activation groups that this appliance is in. */
  groups(): readonly string[];
  /** Rows of the cloud are applied up to here. */
  onCheckpoint(applied: number): void;
  /** Digests differed in these types; twice lately means that all rows come anew. */
  onMismatch(types: readonly string[], again: boolean): void;
  onLease(lease: Lease, until: number): void;
  /** What keeps this appliance from being equal to the cloud, in words; null once nothing does. Called when that changes. */
  onSyncError(reason: string | null): void;
  onFault(error: unknown): void;
}

/** The appliance's side of the link; it needs no cloud to work. */
export interface SiteSync {
  /** Ends what a crash left half done and takes up commands. Must be called first. */
  start(): Promise<void>;
  /** A connection stands. Frames of older ones are forgotten. */
  connected(wire: FrameTransport): void;
  /** Takes what arrived, whatever it is. */
  frame(wire: FrameTransport, value: unknown): void;
  disconnected(wire: FrameTransport): void;
  /** Something was written that goes up. */
  wake(): void;
  /** A peer is heard with this command. */
  peerStarted(cid: string): void;
  /** Cloud time at most, epoch ms; null when nothing can be said. */
  latestCloudTime(): number | null;
  stop(): void;
}

/** @source replication.md 6, liveness */
const PING_MS = 20_000;
/** own choice: nobody who waits for an order notices */
const ACTIVITY_DELAY_MS = 250;
/** Three times within a lease, so that it is kept though a ping is lost. @source replication.md 9: leases of 15 s */
const LEASE_RENEW_MS = 5_000;

interface HubConnection extends FeedConnection {
  askedAt: number;
  files: FileTransfer | null;
  /** Head of the cloud's feed as last told, and since when this appliance does not stand there; monotonic ms. */
  behindSince: number | null;
  /** Commands that came before the welcome was taken. */
  early: Frame[];
}

/** So often it is looked whether an emergency is heard. own choice */
const POLL_MS = 2;

/** Makes the appliance's side. */
export function createSiteSync(needs: SiteSyncDeps): SiteSync {
  const { store, clock, types, limits } = needs;
  const turns = createPriorityTaskQueue(needs.onFault);
  let connection: HubConnection | null = null;
  let time: CloudTime = createCloudTime(clock, null);
  let desk: CommandScheduler | null = null;
  const timers: Timer[] = [];
  let isWoken = false;
  let syncError: string | null = null;
  let telling: Timer | null = null;
  /** An order ends with the next mark. */
  let awaitsMark = true;

  const pages = createPageBatcher(turns, (wire, came) => dropOnError(wire, onPages(wire, came)));
  const resendSome = () => store.transact(() => runBatches(resendStateBatch, true));
  const pump = createUpstreamSender({
    store,
    limits,
    connection: () => connection,
    tellSome: resendSome,
    giveWay: yieldToUrgent,
  });
  const activityContext = (): ActivityContext => ({
    types,
    commonFields: needs.activityFields,
    now: clock.now(),
    newId: needs.newId,
  });
  const currentConnection = (wire: FrameTransport): HubConnection | null =>
    connection?.wire === wire ? connection : null;
  const drop = (wire: FrameTransport, code: string): void => {
    if (currentConnection(wire)) connection = null;
    wire.close(code);
  };
  /** What could not be stored did not come: the next connection begins where this appliance stands then. */
  const dropOnError = (wire: FrameTransport, job: Promise<void>): Promise<void> =>
    job.catch((error: unknown) => {
      drop(wire, "refused");
      throw error;
    });
  const enqueueFrame = (wire: FrameTransport, frame: Frame, urgent = false): void =>
    turns.add(() => dropOnError(wire, onFrame(wire, frame)), urgent);

  async function start(): Promise<void> {
    await store.transact(() => initializeSyncState(needs.endpoint, types.fingerprint));
    time = createCloudTime(clock, await store.transact(() => readSavedCloudTime(clock.now())));
    const play: CommandSchedulerDeps["play"] = (command, on) =>
      isLinkCommand(command) ? startLinkCommand(command.kind, on) : needs.play(command, on);
    desk = createCommandScheduler({
      ...needs,
      play,
      journal: activityContext,
      time,
      onReported: scheduleActivityReport,
    });
    await applyCheckpoint();
    const armed = await store.transact(() => resumeCommands(activityContext(), needs.resumed));
    for (const command of armed) desk.arm(command, true);
    scheduleActivityReport();
    timers.push(clock.every(PING_MS, () => turns.add(tick)));
    timers.push(clock.every(LEASE_RENEW_MS, () => needs.groups().length > 0 && ping()));
  }

  /** What is urgent goes first, and an emergency has the machine to itself until it is heard. */
  async function yieldToUrgent(): Promise<void> {
    await turns.runUrgent();
    while (desk?.isEmergencyStarting()) {
      await new Promise<void>((over) => clock.after(POLL_MS, over, { background: true }));
      await turns.runUrgent();
    }
  }

  /** `between` two transactions others have their turn. */
  async function applyCheckpoint(between?: () => Promise<void>): Promise<void> {
    while (!(await store.transact(() => runBatches(applyBatch, between !== undefined)))) await between?.();
  }

  /** As many slices as one transaction may have, none when something urgent came since it was asked for; true when that was all. */
  function* runBatches(
    slice: (of: ActivityContext, limits: SyncLimits) => TransactionProgram<boolean>,
    givesWay: boolean,
  ): TransactionProgram<boolean> {
    const began = clock.monotonicMs();
    if (givesWay && turns.hasUrgent()) return false;
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
    await pump.sendAll();
    await connection?.files?.requestNext();
    if (needs.groups().length === 0) ping();
  }

  async function checkSyncErrors(): Promise<void> {
    const behindMs = clock.monotonicMs() - (connection?.behindSince ?? clock.monotonicMs());
    const found = await store.read(() => findSyncError(time.latest() ?? clock.now(), behindMs));
    if (found !== syncError) needs.onSyncError(found);
    syncError = found;
  }

  /** Orders that concern the link itself; those for all rows end with the mark of the resync. */
  function startLinkCommand(kind: LinkCommandType, on: Parameters<CommandSchedulerDeps["play"]>[1]): () => void {
    turns.add(async () => {
      const told = await runLinkCommand(kind, {
        store,
        journal: activityContext(),
        cloudTime: time.latestObserved(),
        yieldToUrgent,
      });
      if (told) return on.ended("done", told);
      awaitsMark = true;
      if (connection) drop(connection.wire, "restored");
    });
    return () => {};
  }

  function ping(): void {
    if (connection?.isLive) connection.wire.send({ t: "ping", t0: clock.monotonicMs(), groups: needs.groups() });
  }

  async function sayHello(wire: FrameTransport): Promise<void> {
    // A mark that could not be applied, such as for want of room on the disk, is in the way of all that follows.
    if ((await store.read(readSyncState)).applyingCheckpoint) await applyCheckpoint(yieldToUrgent);
    const hello = await store.read(() => buildHello(types.cloudOwned, limits.credit));
    const live = currentConnection(wire);
    if (!live) return;
    live.askedAt = clock.monotonicMs();
    wire.send(hello);
  }

  async function onWelcome(live: HubConnection, welcome: SyncWelcome): Promise<void> {
    const accept = () => store.transact(() => handleWelcome(welcome, activityContext()));
    let verdict = await accept();
    while (verdict === "more") verdict = await accept();
    if (verdict === "restored") desk?.discard(await store.transact(() => invalidateArmedCommands(activityContext())));
    if (verdict !== "live") return drop(live.wire, verdict);
    await observeCloudTime(welcome.ct, live.askedAt);
    desk?.markVerified();
    live.sent = { bulk: welcome.up.bulk.hw, hot: welcome.up.hot.hw };
    live.window = createFlowControlWindow(welcome.credit);
    const send = (frame: Frame) => currentConnection(live.wire) && live.wire.send(frame);
    const onBadFile = (sha256: string): void =>
      needs.onFault(new UpstreamError("upstream", `The file ${sha256} is not what its name says.`));
    const { blobs } = needs;
    live.files = createFileTransfer({ store, limits, send, onBadFile, blobs, of: SITE_FILE_REQUESTS, holder: "" });
    live.isLive = true;
    for (const frame of live.early) enqueueFrame(live.wire, frame, true);
    await pump.sendAll();
    await live.files.requestNext();
  }

  async function observeCloudTime(ct: number, askedAt: number): Promise<void> {
    time.observe(ct, askedAt);
    await saveCloudTime();
  }

  /** The wall clock may have been set since. */
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
    turns.add(() => {
      isWoken = false;
      return pump.sendAll();
    }, true);
  }

  /** Outcomes go at once; what people are shown of them follows, for all that end about now together. */
  function scheduleActivityReport(): void {
    wake();
    telling ??= clock.after(ACTIVITY_DELAY_MS, () => {
      telling = null;
      turns.add(async () => {
        await store.transact(() => enqueueChangedActivities(activityContext()));
        await pump.sendAll();
      });
    });
  }

  async function handlePageResult(
    live: HubConnection,
    frame: Frame & { t: "rows" | "snap" },
    verdict: StagedPageResult,
  ): Promise<void> {
    if (verdict === "gap") return drop(live.wire, "gap");
    if (verdict === "marked") {
      const { to, mark } = frame as DownstreamPage;
      await applyCheckpoint(yieldToUrgent);
      needs.onCheckpoint(to);
      if (mark?.digests) await compareDigests(live, mark.digests);
    }
    const to = frame.t === "rows" ? frame.to : frame.h0;
    if (currentConnection(live.wire)) live.wire.send({ t: "ack", feed: "down.bulk", to });
    await live.files?.requestNext();
    if (verdict !== "marked") return;
    // A mark ends the orders for one.
    if (awaitsMark) scheduleActivityReport();
    awaitsMark = false;
    await pump.sendAll();
  }

  /** Stores them up to the first mark, which is applied before the next one is looked at. */
  async function onPages(wire: FrameTransport, came: readonly DownstreamPage[]): Promise<void> {
    for (let at = 0; at < came.length; ) {
      await yieldToUrgent();
      const live = currentConnection(wire);
      if (!live?.isLive) return;
      const verdicts = await store.transact(function* () {
        const stored: StagedPageResult[] = [];
        for (const page of turns.hasUrgent() ? [] : came.slice(at)) {
          stored.push(yield* stagePage(page, types));
          if (stored.at(-1) !== "staged") break;
        }
        return stored;
      });
      // Also when the connection ended meanwhile: a mark that is stored is applied.
      for (const verdict of verdicts) {
        await handlePageResult(live, came[at] as DownstreamPage, verdict);
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
    const again = await store.transact(() => recordDigestMismatch(time.latest() ?? clock.now()));
    needs.onMismatch(different, again);
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
        if (armed) desk?.arm(armed, false);
        if (silence) desk?.silence(silence);
        if (armed?.needs) await live.files?.requestNext();
        return pump.sendAll();
      }
      case "heard":
        return desk?.peerStarted(frame.cid);
      case "ack":
        live.window.acknowledged();
        await store.transact(function* () {
          yield* recordSentActivities(
            activityContext(),
            yield* recordAcked(frame.feed === "up.hot" ? "hot" : "bulk", frame.to),
          );
        });
        return pump.sendPending();
      case "pong": {
        await observeCloudTime(frame.ct, frame.t0);
        desk?.markVerified();
        const { applied } = await store.read(readSyncState);
        live.behindSince = applied < frame.head ? (live.behindSince ?? clock.monotonicMs()) : null;
        for (const lease of frame.leases) needs.onLease(lease, frame.t0 + lease.ttlMs);
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
      turns.add(() => dropOnError(wire, sayHello(wire)));
    },
    frame(wire, value) {
      const live = currentConnection(wire);
      const read = parseFrame(value, "hub");
      if (live && "fault" in read) {
        wire.send({ t: "err", code: "schema", reason: read.fault });
        needs.onFault(new UpstreamError("upstream", `The cloud sent what is no frame: ${read.fault}`));
        return drop(wire, "schema");
      }
      const frame = "fault" in read ? null : read.frame;
      if (!frame) return;
      const isUrgent = frame.t === "cmd" || frame.t === "heard";
      // Commands overtake all else, but neither the welcome nor each other.
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
    peerStarted: (cid) => desk?.peerStarted(cid),
    latestCloudTime: () => time.latest(),
    stop() {
      turns.stop();
      desk?.stop();
      for (const timer of timers) timer.cancel();
      telling?.cancel();
      connection = null;
    },
  };
}
