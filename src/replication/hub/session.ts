import type { Clock } from "../../base/clock.ts";
import { CallerError } from "../../base/errors.ts";
import type { Frame, Hello, Limits, UpPage, Wire } from "../frames.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { createTurnQueue } from "../turn-queue.ts";
import type { WorkStore } from "../work.ts";
import { nextCommand } from "./commands.ts";
import { readPage, readSnapPage, repairRows } from "./down-feed.ts";
import { renewLeases } from "./leases.ts";
import { takePage } from "./up-feed.ts";
import { type Admission, admit, noteApplied } from "./welcome.ts";

/** What a connection of the cloud's side is made of. */
export interface SessionNeeds {
  store: WorkStore;
  clock: Pick<Clock, "now">;
  types: ReplicatedTypes;
  limits: Limits;
  wire: Wire;
  /** Cloud-owned rows changed, or commands were issued. */
  changed(): void;
  /** A command is heard; `endpoint` is another appliance that waits for it. */
  heard(endpoint: string, cid: string): void;
  /** The connection is of this endpoint. */
  admitted(endpoint: string): void;
  onFault(error: unknown): void;
}

/** One connection of one appliance. */
export interface Session {
  frame(frame: Frame): void;
  /** There may be something to send. */
  wake(): void;
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
  let inFlight = 0;
  let lastCommand = 0;
  let isOpen = true;

  const close = (code: "gap" | "fenced" | "restored" | "refused"): void => {
    if (!isOpen) return;
    stop();
    wire.send({ t: "err", code });
    wire.close(code);
  };
  const send = (frame: Frame): void => {
    if (isOpen) wire.send(frame);
  };
  const stop = (): void => {
    isOpen = false;
    turns.stop();
  };

  async function onHello(hello: Hello): Promise<void> {
    const admitted = await store.transact(() => admit(hello, clock.now(), limits.credit));
    send(admitted.welcome);
    // An older copy of the appliance finds out by the welcome, and comes again.
    if (!admitted.isCurrent) return;
    admission = admitted;
    needs.admitted(hello.endpoint);
    await pump();
  }

  /** Sends what there is while the appliance takes it; commands wait for no window. */
  async function pump(): Promise<void> {
    await sendCommands();
    while (isOpen && admission && inFlight < limits.credit) {
      if (!(await (admission.cursor.snap ? sendSnapPage(admission) : sendPage(admission)))) return;
      await sendCommands();
    }
  }

  async function sendPage({ cursor }: Admission): Promise<boolean> {
    const page = await store.transact(() => readPage(cursor, limits));
    if (!page || !isOpen) return false;
    cursor.at = page.to;
    // A full page may end at the head of the feed.
    cursor.owesMark = !page.mark;
    if (page.mark) {
      cursor.told = page.mark.decided;
      cursor.owesDigests = false;
    }
    inFlight += 1;
    send(page);
    return true;
  }

  async function sendSnapPage({ cursor }: Admission): Promise<boolean> {
    const page = await store.transact(() => readSnapPage(cursor, limits));
    cursor.snap = page.end ? null : { h0: page.h0, after: page.after };
    if (page.end) cursor.at = page.h0;
    inFlight += 1;
    send(page);
    return isOpen;
  }

  async function sendCommands(): Promise<void> {
    while (isOpen && admission) {
      const { cursor, welcome, cmdHw } = admission;
      const at = { after: lastCommand, inc: welcome.inc, cmdHw, now: clock.now() };
      const { frame, after } = await store.transact(() => nextCommand(cursor.endpoint, at), "emergency");
      if (after === lastCommand) return;
      lastCommand = after;
      if (frame) send(frame);
    }
  }

  async function onUp(page: UpPage): Promise<void> {
    if (!admission) return;
    const by = { endpoint: admission.cursor.endpoint, sess: admission.welcome.sess };
    const taken = await store.transact(() => takePage(page, by, types));
    if (taken.verdict !== "taken") return close(taken.verdict);
    send({ t: "ack", feed: page.feed, to: page.to });
    for (const { endpoint, cid } of taken.heard) needs.heard(endpoint, cid);
    if (taken.published) needs.changed();
    await pump();
  }

  async function onFrame(frame: Frame): Promise<void> {
    if (frame.t === "hello") return admission ? close("refused") : onHello(frame);
    if (!admission || !isOpen) return;
    const { cursor, welcome } = admission;
    switch (frame.t) {
      case "rows":
        return frame.feed === "down.bulk" ? undefined : onUp(frame);
      case "ack":
        inFlight -= 1;
        await store.transact(() => noteApplied(cursor.endpoint, welcome.sess, frame.to, clock.now()));
        return pump();
      case "ping": {
        const leases = await store.transact(() => renewLeases(cursor.endpoint, frame.groups, clock.now()));
        return send({ t: "pong", t0: frame.t0, ct: clock.now(), leases });
      }
      case "digest": {
        const found = await store.transact(() => repairRows(cursor, frame));
        if (found) send({ t: "repair", at: frame.applied, type: frame.type, ...found });
        else cursor.owesDigests = true;
        return;
      }
    }
  }

  return {
    frame: (frame) => turns.add(() => onFrame(frame)),
    wake: () => turns.add(pump, true),
    heard: (cid) => send({ t: "heard", cid }),
    compare() {
      if (admission) admission.cursor.owesDigests = true;
    },
    stop,
  };
}
