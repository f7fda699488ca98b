import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { createPriorityTaskQueue } from "../../lib/priority-task-queue.ts";
import type { BlobStore } from "../files/blob-store.ts";
import { HUB_FILE_REQUESTS } from "../files/file-requests.ts";
import { createFileTransfer, type FileTransfer } from "../files/file-transfer.ts";
import { parseFrame } from "../protocol/frame-schemas.ts";
import type {
  CloseCode,
  FileChunk,
  Frame,
  FrameTransport,
  SyncHello,
  SyncLimits,
  UpstreamPage,
} from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import type { RowBody, TransactionStore } from "../storage/transaction-program.ts";
import { createFlowControlWindow, type FlowControlWindow } from "../transport/flow-control-window.ts";
import { findDifferingRows } from "./digest-repair.ts";
import { readDownstreamPage, readSnapshotPage } from "./downstream-feed.ts";
import { renewLeases } from "./group-leases.ts";
import { admitSite, type HandshakeResult, recordApplied } from "./handshake.ts";
import { type ConcludedCommand, nextCommands } from "./issued-commands.ts";
import { applyUpstreamPage } from "./upstream-feed.ts";

export interface SiteSessionDeps {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "defer">;
  types: ReplicatedTypes;
  limits: SyncLimits;
  blobs: BlobStore;
  wire: FrameTransport;
  /** The authenticated appliance; null if only the hello identifies it. */
  endpoint: string | null;
  /** Whether the appliance is a member of the group; default: yes. */
  isInGroup?: ((endpoint: string, group: string) => boolean) | undefined;
  /** Cloud-owned rows changed or commands were issued. */
  onChanged(): void;
  /** A command was reported as playing; `endpoint` is another appliance that waits for evidence. */
  onCommandHeard(endpoint: string, cid: string): void;
  /** The connection belongs to this endpoint. */
  onAdmitted(endpoint: string): void;
  /** An invalid frame was received; the connection closes with this reason. */
  onBadFrame(endpoint: string | null, reason: string): void;
  onBadFile(endpoint: string, sha256: string): void;
  /** A command has an outcome, reported by the appliance or concluded by the cloud; a hint. */
  onOutcome(endpoint: string, cid: string, report: RowBody): void;
  onFault(error: unknown): void;
}

/** One connection of one appliance. */
export interface SiteSession {
  /** Handles a received value, valid or not. */
  receive(value: unknown): void;
  /** There may be rows to send, and with `commandsToo` also commands. */
  wake(commandsToo: boolean): void;
  notifyHeard(cid: string): void;
  /** Requests digests at the next checkpoint. */
  compareDigests(): void;
  stop(): void;
}

export function createSiteSession(deps: SiteSessionDeps): SiteSession {
  const { store, clock, types, limits, wire } = deps;
  const tasks = createPriorityTaskQueue((error) => {
    const isFenced = error instanceof CallerError;
    if (!isFenced) deps.onFault(error);
    close(isFenced ? "fenced" : "refused");
  });
  let admission: HandshakeResult | null = null;
  let window: FlowControlWindow = createFlowControlWindow({ frames: 0, bytes: 0 });
  let files: FileTransfer | null = null;
  let lastCommand = 0;
  let isOpen = true;
  /** What may be pending; reset before the query, because more may be written during it. */
  const due = { rows: true, commands: true };
  let isWoken = false;
  /** Position acknowledged by the appliance that is not stored yet. */
  let acked: number | null = null;

  const close = (code: CloseCode, reason?: string): void => {
    if (!isOpen) return;
    stop();
    wire.send({ t: "err", code, ...(reason ? { reason } : {}) });
    wire.close(code);
  };
  const send = (frame: Frame): void => {
    if (isOpen) wire.send(frame);
  };
  const stop = (): void => {
    isOpen = false;
    tasks.stop();
  };

  /** Runs urgent tasks. */
  async function yieldToUrgent(): Promise<void> {
    await yieldToEventLoop(clock);
    await tasks.runUrgent();
  }

  async function onHello(hello: SyncHello): Promise<void> {
    if (deps.endpoint !== null && hello.endpoint !== deps.endpoint)
      return close("refused", "The endpoint of the hello must be the authenticated one.");
    const admitted = await store.transact(() => admitSite(hello, clock.now(), limits.credit));
    send(admitted.welcome);
    reportLost(admitted.lost);
    // An older copy of the appliance detects that by the welcome, and connects again.
    if (!admitted.isCurrent) return;
    admission = admitted;
    window = createFlowControlWindow(hello.credit);
    const { endpoint } = hello;
    const onBadFile = (sha256: string): void => deps.onBadFile(endpoint, sha256);
    files = createFileTransfer({
      store,
      limits,
      send,
      onBadFile,
      blobs: deps.blobs,
      of: HUB_FILE_REQUESTS,
      holder: endpoint,
    });
    deps.onAdmitted(endpoint);
    await sendPending();
    await files.requestNext();
  }

  /** Sends pending pages while the window is open; commands are exempt from it. */
  async function sendPending(): Promise<void> {
    await sendCommands();
    while (due.rows && isOpen && admission && window.isOpen()) {
      due.rows = false;
      if (await (admission.cursor.snapshot ? sendSnapshotPage(admission) : sendPage(admission))) due.rows = true;
      await sendCommands();
    }
  }

  /** True if there may be more. */
  async function sendPage({ cursor }: HandshakeResult): Promise<boolean> {
    const read = await store.read(() => readDownstreamPage(cursor, limits, types));
    if (!read || !isOpen) return false;
    const { frame: page, bytes, lateSentTo, more } = read;
    cursor.sentTo = page.to;
    // A full page may end at the head of the feed without its checkpoint.
    cursor.needsCheckpoint = !page.mark;
    if (page.mark) {
      cursor.resultsSentTo = page.mark.decided;
      cursor.lateSentTo = lateSentTo ?? cursor.lateSentTo;
      cursor.needsDigests = false;
    }
    window.sent(bytes);
    send(page);
    return !page.mark || more === true;
  }

  async function sendSnapshotPage({ cursor }: HandshakeResult): Promise<boolean> {
    const { frame: page, bytes } = await store.read(() => readSnapshotPage(cursor, limits, types));
    cursor.snapshot = page.end ? null : { h0: page.h0, after: page.after };
    if (page.end) cursor.sentTo = page.h0;
    window.sent(bytes);
    send(page);
    return isOpen;
  }

  async function sendCommands(): Promise<void> {
    while (due.commands && isOpen && admission) {
      due.commands = false;
      const { cursor, welcome, commandHighWatermark } = admission;
      const at = { after: lastCommand, inc: welcome.inc, cmdHw: commandHighWatermark, now: clock.now() };
      const { frames, after, more, lost } = await store.transact(() => nextCommands(cursor.endpoint, at), "emergency");
      lastCommand = after;
      if (more) due.commands = true;
      for (const frame of frames) send(frame);
      reportLost(lost);
    }
  }

  function reportLost(lost: readonly ConcludedCommand[]): void {
    for (const { endpoint, cid, outcome } of lost) deps.onOutcome(endpoint, cid, { outcome });
  }

  async function onUpstreamPage(page: UpstreamPage): Promise<void> {
    if (!admission) return;
    const by = { endpoint: admission.cursor.endpoint, sess: admission.welcome.sess };
    const applied = await store.transact(() => applyUpstreamPage(page, by, types, clock.now()));
    if (applied.result !== "taken") return close(applied.result);
    send({ t: "ack", feed: page.feed, to: page.to });
    for (const { endpoint, cid } of applied.heard) deps.onCommandHeard(endpoint, cid);
    for (const { cid, report } of applied.outcomes) deps.onOutcome(by.endpoint, cid, report);
    if (applied.published) deps.onChanged();
    if (applied.files) await files?.requestNext();
  }

  async function onFrame(frame: Frame): Promise<void> {
    if (frame.t === "hello") return admission ? close("refused") : onHello(frame);
    if (!admission || !isOpen) return;
    const { cursor, welcome } = admission;
    switch (frame.t) {
      case "rows":
        return frame.feed === "down.bulk" ? undefined : onUpstreamPage(frame);
      case "ack":
        window.acknowledged();
        if (acked === null) tasks.add(() => recordAcked(cursor.endpoint, welcome.sess));
        acked = frame.to;
        return sendPending();
      case "ping": {
        const by = { endpoint: cursor.endpoint, sess: welcome.sess };
        const groups = frame.groups.filter((group) => deps.isInGroup?.(by.endpoint, group) ?? true);
        const renewed = await store.transact(() => renewLeases(by, groups, clock.now()));
        if (!renewed) return close("fenced");
        return send({ t: "pong", t0: frame.t0, ct: clock.now(), ...renewed });
      }
      case "digest": {
        const found = await findDifferingRows({ store, types, yieldToUrgent }, cursor, frame);
        if (found) send({ t: "repair", at: frame.applied, type: frame.type, ...found });
        else cursor.needsDigests = true;
        due.rows ||= !found;
        return;
      }
      case "need":
      case "chunk":
        return onFile(frame);
      case "err":
        return close("refused");
    }
  }

  /** Combines acknowledgements into one write, for which the next pages do not wait. */
  async function recordAcked(endpoint: string, sess: number): Promise<void> {
    const to = acked as number;
    acked = null;
    await store.transact(() => recordApplied(endpoint, sess, to, clock.now()));
  }

  async function onFile(frame: FileChunk | (Frame & { t: "need" })): Promise<void> {
    await (frame.t === "chunk" ? files?.handleChunk(frame) : files?.handleRequest(frame.sha256, frame.from));
  }

  function receive(value: unknown): void {
    if (!isOpen) return;
    const read = parseFrame(value, "site");
    if ("error" in read) {
      deps.onBadFrame(admission?.cursor.endpoint ?? deps.endpoint, read.error);
      close("schema", read.error);
      return;
    }
    const { frame } = read;
    if (frame) tasks.add(() => onFrame(frame));
  }

  return {
    receive,
    wake(commandsToo) {
      due.rows = true;
      due.commands ||= commandsToo;
      if (isWoken) return;
      isWoken = true;
      tasks.add(() => {
        isWoken = false;
        return sendPending();
      }, true);
    },
    notifyHeard: (cid) => send({ t: "heard", cid }),
    compareDigests() {
      if (admission) admission.cursor.needsDigests = true;
    },
    stop,
  };
}
