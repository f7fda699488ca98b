import { type Clock, nextTurn } from "../../base/clock.ts";
import { CallerError } from "../../base/errors.ts";
import type { Blobs } from "../blobs.ts";
import { createFileTransfer, type FileTransfer } from "../file-transfer.ts";
import { readFrame } from "../frame-schemas.ts";
import type { Chunk, CloseCode, Frame, Hello, Limits, UpPage, Wire } from "../frames.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { createSendWindow, type SendWindow } from "../send-window.ts";
import { createTurnQueue } from "../turn-queue.ts";
import { HUB_FILES } from "../wanted-files.ts";
import type { Body, WorkStore } from "../work.ts";
import { type Concluded, nextCommands } from "./commands.ts";
import { readPage, readSnapPage } from "./down-feed.ts";
import { renewLeases } from "./leases.ts";
import { repairRows } from "./repair.ts";
import { takePage } from "./up-feed.ts";
import { type Admission, admit, noteApplied } from "./welcome.ts";

/** What a connection of the cloud's side is made of. */
export interface SessionNeeds {
  store: WorkStore;
  clock: Pick<Clock, "now" | "soon">;
  types: ReplicatedTypes;
  limits: Limits;
  blobs: Blobs;
  wire: Wire;
  /** Whom the connection authenticated as; null where the hello alone says so. */
  endpoint: string | null;
  /** Whether a group is one that the appliance is in; all are unless given. */
  isInGroup?: ((endpoint: string, group: string) => boolean) | undefined;
  /** Cloud-owned rows changed, or commands were issued. */
  changed(): void;
  /** A command is heard; `endpoint` is another appliance that waits for it. */
  heard(endpoint: string, cid: string): void;
  /** The connection is of this endpoint. */
  admitted(endpoint: string): void;
  /** What arrived is no frame; the connection is closed with this reason. */
  onBadFrame(endpoint: string | null, reason: string): void;
  onBadFile(endpoint: string, sha256: string): void;
  /** An appliance says what became of a command, or the cloud found out by itself; a hint. */
  onOutcome(endpoint: string, cid: string, told: Body): void;
  onFault(error: unknown): void;
}

/** One connection of one appliance. */
export interface Session {
  /** Takes what arrived, whatever it is. */
  frame(value: unknown): void;
  /** There may be rows to send, or commands as well. */
  wake(commandsToo: boolean): void;
  heard(cid: string): void;
  /** Compares all rows with the appliance's at the next mark. */
  compare(): void;
  stop(): void;
}

/** Makes the cloud's end of a connection. */
export function createSession(needs: SessionNeeds): Session {
  const { store, clock, types, limits, wire } = needs;
  const turns = createTurnQueue((error) => {
    const isFenced = error instanceof CallerError;
    if (!isFenced) needs.onFault(error);
    close(isFenced ? "fenced" : "refused");
  });
  let admission: Admission | null = null;
  let window: SendWindow = createSendWindow({ frames: 0, bytes: 0 });
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
  async function giveWay(): Promise<void> {
    await nextTurn(clock);
    await turns.urgentFirst();
  }

  async function onHello(hello: Hello): Promise<void> {
    if (needs.endpoint !== null && hello.endpoint !== needs.endpoint)
      return close("refused", "It is another endpoint.");
    const admitted = await store.transact(() => admit(hello, clock.now(), limits.credit));
    send(admitted.welcome);
    tellLost(admitted.lost);
    // An older copy of the appliance finds out by the welcome, and comes again.
    if (!admitted.isCurrent) return;
    admission = admitted;
    window = createSendWindow(hello.credit);
    const { endpoint } = hello;
    const onBadFile = (sha256: string): void => needs.onBadFile(endpoint, sha256);
    files = createFileTransfer({ store, limits, send, onBadFile, blobs: needs.blobs, of: HUB_FILES, holder: endpoint });
    needs.admitted(endpoint);
    await pump();
    await files.look();
  }

  /** Sends what there is while the appliance takes it; commands wait for no window. */
  async function pump(): Promise<void> {
    await sendCommands();
    while (due.rows && isOpen && admission && window.isOpen()) {
      due.rows = false;
      if (await (admission.cursor.snap ? sendSnapPage(admission) : sendPage(admission))) due.rows = true;
      await sendCommands();
    }
  }

  /** Whether there is more. */
  async function sendPage({ cursor }: Admission): Promise<boolean> {
    const read = await store.read(() => readPage(cursor, limits));
    if (!read || !isOpen) return false;
    const { frame: page, bytes } = read;
    cursor.at = page.to;
    // A full page may end at the head of the feed.
    cursor.owesMark = !page.mark;
    if (page.mark) {
      cursor.told = page.mark.decided;
      cursor.owesDigests = false;
    }
    window.sent(bytes);
    send(page);
    return !page.mark;
  }

  async function sendSnapPage({ cursor }: Admission): Promise<boolean> {
    const { frame: page, bytes } = await store.read(() => readSnapPage(cursor, limits));
    cursor.snap = page.end ? null : { h0: page.h0, after: page.after };
    if (page.end) cursor.at = page.h0;
    window.sent(bytes);
    send(page);
    return isOpen;
  }

  async function sendCommands(): Promise<void> {
    while (due.commands && isOpen && admission) {
      due.commands = false;
      const { cursor, welcome, cmdHw } = admission;
      const at = { after: lastCommand, inc: welcome.inc, cmdHw, now: clock.now() };
      const { frames, after, more, lost } = await store.transact(() => nextCommands(cursor.endpoint, at), "emergency");
      lastCommand = after;
      if (more) due.commands = true;
      for (const frame of frames) send(frame);
      tellLost(lost);
    }
  }

  function tellLost(lost: readonly Concluded[]): void {
    for (const { endpoint, cid, outcome } of lost) needs.onOutcome(endpoint, cid, { outcome });
  }

  async function onUp(page: UpPage): Promise<void> {
    if (!admission) return;
    const by = { endpoint: admission.cursor.endpoint, sess: admission.welcome.sess };
    const taken = await store.transact(() => takePage(page, by, types, clock.now()));
    if (taken.verdict !== "taken") return close(taken.verdict);
    send({ t: "ack", feed: page.feed, to: page.to });
    for (const { endpoint, cid } of taken.heard) needs.heard(endpoint, cid);
    for (const { cid, told } of taken.outcomes) needs.onOutcome(by.endpoint, cid, told);
    if (taken.published) needs.changed();
    if (taken.files) await files?.look();
  }

  async function onFrame(frame: Frame): Promise<void> {
    if (frame.t === "hello") return admission ? close("refused") : onHello(frame);
    if (!admission || !isOpen) return;
    const { cursor, welcome } = admission;
    switch (frame.t) {
      case "rows":
        return frame.feed === "down.bulk" ? undefined : onUp(frame);
      case "ack":
        window.taken();
        if (acked === null) turns.add(() => noteAcked(cursor.endpoint, welcome.sess));
        acked = frame.to;
        return pump();
      case "ping": {
        const by = { endpoint: cursor.endpoint, sess: welcome.sess };
        const groups = frame.groups.filter((group) => needs.isInGroup?.(by.endpoint, group) ?? true);
        const renewed = await store.transact(() => renewLeases(by, groups, clock.now()));
        if (!renewed) return close("fenced");
        return send({ t: "pong", t0: frame.t0, ct: clock.now(), ...renewed });
      }
      case "digest": {
        const found = await repairRows({ store, giveWay }, cursor, frame);
        if (found) send({ t: "repair", at: frame.applied, type: frame.type, ...found });
        else cursor.owesDigests = true;
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
  async function noteAcked(endpoint: string, sess: number): Promise<void> {
    const to = acked as number;
    acked = null;
    await store.transact(() => noteApplied(endpoint, sess, to, clock.now()));
  }

  async function onFile(frame: Chunk | (Frame & { t: "need" })): Promise<void> {
    await (frame.t === "chunk" ? files?.chunk(frame) : files?.need(frame.sha256, frame.from));
  }

  function take(value: unknown): void {
    if (!isOpen) return;
    const read = readFrame(value, "site");
    if ("fault" in read) {
      needs.onBadFrame(admission?.cursor.endpoint ?? needs.endpoint, read.fault);
      close("schema", read.fault);
      return;
    }
    const { frame } = read;
    if (frame) turns.add(() => onFrame(frame));
  }

  return {
    frame: take,
    wake(commandsToo) {
      due.rows = true;
      due.commands ||= commandsToo;
      if (isWoken) return;
      isWoken = true;
      turns.add(() => {
        isWoken = false;
        return pump();
      }, true);
    },
    heard: (cid) => send({ t: "heard", cid }),
    compare() {
      if (admission) admission.cursor.owesDigests = true;
    },
    stop,
  };
}
