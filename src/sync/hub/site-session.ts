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

/** What a connection of the cloud's side is made of. */
export interface SiteSessionDeps {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "defer">;
  types: ReplicatedTypes;
  limits: SyncLimits;
  blobs: BlobStore;
  wire: FrameTransport;
  /** Whom the connection authenticated as; null where the hello alone says so. */
  endpoint: string | null;
  /** Whether a group is one that the appliance is in; all are unless given. */
  isInGroup?: ((endpoint: string, group: string) => boolean) | undefined;
  /** Cloud-owned rows changed, or commands were issued. */
  onChanged(): void;
  /** A command is heard; `endpoint` is another appliance that waits for it. */
  onCommandHeard(endpoint: string, cid: string): void;
  /** The connection is of this endpoint. */
  onAdmitted(endpoint: string): void;
  /** What arrived is no frame; the connection is closed with this reason. */
  onBadFrame(endpoint: string | null, reason: string): void;
  onBadFile(endpoint: string, sha256: string): void;
  /** An appliance says what became of a command, or the cloud found out by itself; a hint. */
  onOutcome(endpoint: string, cid: string, told: RowBody): void;
  onFault(error: unknown): void;
}

/** One connection of one appliance. */
export interface SiteSession {
  /** Takes what arrived, whatever it is. */
  receive(value: unknown): void;
  /** There may be rows to send, or commands as well. */
  wake(commandsToo: boolean): void;
  notifyHeard(cid: string): void;
  /** Compares all rows with the appliance's at the next mark. */
  compareDigests(): void;
  stop(): void;
}

/** Makes the cloud's end of a connection. */
export function createSiteSession(needs: SiteSessionDeps): SiteSession {
  const { store, clock, types, limits, wire } = needs;
  const turns = createPriorityTaskQueue((error) => {
    const isFenced = error instanceof CallerError;
    if (!isFenced) needs.onFault(error);
    close(isFenced ? "fenced" : "refused");
  });
  let admission: HandshakeResult | null = null;
  let window: FlowControlWindow = createFlowControlWindow({ frames: 0, bytes: 0 });
  let files: FileTransfer | null = null;
  let lastCommand = 0;
  let isOpen = true;
  /** What there may be to send; taken back before it is looked for, as more may come meanwhile. */
  const due = { rows: true, commands: true };
  let isWoken = false;
  /** Up to where the appliance has the feed, while that is not noted. */
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
    turns.stop();
  };

  /** What is urgent goes first. */
  async function yieldToUrgent(): Promise<void> {
    await yieldToEventLoop(clock);
    await turns.runUrgent();
  }

  async function onHello(hello: SyncHello): Promise<void> {
    if (needs.endpoint !== null && hello.endpoint !== needs.endpoint)
      return close("refused", "It is another endpoint.");
    const admitted = await store.transact(() => admitSite(hello, clock.now(), limits.credit));
    send(admitted.welcome);
    reportLost(admitted.lost);
    // An older copy of the appliance finds out by the welcome, and comes again.
    if (!admitted.isCurrent) return;
    admission = admitted;
    window = createFlowControlWindow(hello.credit);
    const { endpoint } = hello;
    const onBadFile = (sha256: string): void => needs.onBadFile(endpoint, sha256);
    files = createFileTransfer({
      store,
      limits,
      send,
      onBadFile,
      blobs: needs.blobs,
      of: HUB_FILE_REQUESTS,
      holder: endpoint,
    });
    needs.onAdmitted(endpoint);
    await sendPending();
    await files.requestNext();
  }

  /** Sends what there is while the appliance takes it; commands wait for no window. */
  async function sendPending(): Promise<void> {
    await sendCommands();
    while (due.rows && isOpen && admission && window.isOpen()) {
      due.rows = false;
      if (await (admission.cursor.snapshot ? sendSnapshotPage(admission) : sendPage(admission))) due.rows = true;
      await sendCommands();
    }
  }

  /** Whether there is more. */
  async function sendPage({ cursor }: HandshakeResult): Promise<boolean> {
    const read = await store.read(() => readDownstreamPage(cursor, limits));
    if (!read || !isOpen) return false;
    const { frame: page, bytes } = read;
    cursor.sentTo = page.to;
    // A full page may end at the head of the feed.
    cursor.needsCheckpoint = !page.mark;
    if (page.mark) {
      cursor.resultsSentTo = page.mark.decided;
      cursor.needsDigests = false;
    }
    window.sent(bytes);
    send(page);
    return !page.mark;
  }

  async function sendSnapshotPage({ cursor }: HandshakeResult): Promise<boolean> {
    const { frame: page, bytes } = await store.read(() => readSnapshotPage(cursor, limits));
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
    for (const { endpoint, cid, outcome } of lost) needs.onOutcome(endpoint, cid, { outcome });
  }

  async function onUpstreamPage(page: UpstreamPage): Promise<void> {
    if (!admission) return;
    const by = { endpoint: admission.cursor.endpoint, sess: admission.welcome.sess };
    const taken = await store.transact(() => applyUpstreamPage(page, by, types, clock.now()));
    if (taken.result !== "taken") return close(taken.result);
    send({ t: "ack", feed: page.feed, to: page.to });
    for (const { endpoint, cid } of taken.heard) needs.onCommandHeard(endpoint, cid);
    for (const { cid, told } of taken.outcomes) needs.onOutcome(by.endpoint, cid, told);
    if (taken.published) needs.onChanged();
    if (taken.files) await files?.requestNext();
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
        if (acked === null) turns.add(() => recordAcked(cursor.endpoint, welcome.sess));
        acked = frame.to;
        return sendPending();
      case "ping": {
        const by = { endpoint: cursor.endpoint, sess: welcome.sess };
        const groups = frame.groups.filter((group) => needs.isInGroup?.(by.endpoint, group) ?? true);
        const renewed = await store.transact(() => renewLeases(by, groups, clock.now()));
        if (!renewed) return close("fenced");
        return send({ t: "pong", t0: frame.t0, ct: clock.now(), ...renewed });
      }
      case "digest": {
        const found = await findDifferingRows({ store, yieldToUrgent }, cursor, frame);
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

  /** Acknowledgements that came together are one write, and the next pages don't wait for it. */
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
    if ("fault" in read) {
      needs.onBadFrame(admission?.cursor.endpoint ?? needs.endpoint, read.fault);
      close("schema", read.fault);
      return;
    }
    const { frame } = read;
    if (frame) turns.add(() => onFrame(frame));
  }

  return {
    receive: receive,
    wake(commandsToo) {
      due.rows = true;
      due.commands ||= commandsToo;
      if (isWoken) return;
      isWoken = true;
      turns.add(() => {
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
