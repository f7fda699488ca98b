import type { Clock, Timer } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import type { Blobs } from "../blobs.ts";
import { bucketOf } from "../digests.ts";
import { createFileTransfer, type FileTransfer } from "../file-transfer.ts";
import { readFrame } from "../frame-schemas.ts";
import type { DownPage, Frame, Lease, Limits, Welcome, Wire } from "../frames.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { createSendWindow } from "../send-window.ts";
import { createTurnQueue } from "../turn-queue.ts";
import { SITE_FILES } from "../wanted-files.ts";
import { type Body, put, type Work, type WorkStore } from "../work.ts";
import { type Journal, sendActivities, tellSent } from "./activities.ts";
import { type CloudTime, createCloudTime } from "./cloud-time.ts";
import { type CommandDesk, createCommandDesk, type DeskNeeds } from "./command-desk.ts";
import { differingTypes, noteMismatch, ownBuckets } from "./digest-check.ts";
import { applySlice, receivePage, receiveSnapPage, repair, type Taken } from "./down-feed.ts";
import { forgetOld } from "./forgetting.ts";
import { disownArmed, type Resumed, receiveCommand, resumeCommands } from "./inbox.ts";
import { keptTime, linkState, makeHello, prepareLink } from "./link-state.ts";
import { noteAcked } from "./outbox.ts";
import { doOwnOrder, isOwnOrder, type OwnOrder } from "./own-orders.ts";
import { tellSlice } from "./own-state.ts";
import { createPageQueue } from "./page-queue.ts";
import { createPump, type Outlet } from "./pump.ts";
import { LINK } from "./tables.ts";
import { findTrouble } from "./trouble.ts";
import { acceptWelcome } from "./welcome.ts";

/** What the appliance's side of the link is made of. */
export interface SiteNeeds extends Pick<DeskNeeds, "play" | "hasContact"> {
  store: WorkStore;
  newId(): string;
  blobs: Blobs;
  /** What all activities of this appliance have: extension and endpoint. */
  about: Body;
  /** What became of an order that was under way when the last process ended. */
  resumed: Resumed;
  clock: Pick<Clock, "now" | "monotonicMs" | "after" | "every">;
  types: ReplicatedTypes;
  limits: Limits;
  endpoint: string;
  /** Activation groups that this appliance is in. */
  groups(): readonly string[];
  /** Rows of the cloud are applied up to here. */
  onMark(applied: number): void;
  /** Digests differed in these types; twice lately means that all rows come anew. */
  onMismatch(types: readonly string[], again: boolean): void;
  onLease(lease: Lease, until: number): void;
  /** What keeps this appliance from being equal to the cloud, in words; null once nothing does. Called when that changes. */
  onTrouble(reason: string | null): void;
  onFault(error: unknown): void;
}

/** The appliance's side of the link; it needs no cloud to work. */
export interface Site {
  /** Ends what a crash left half done and takes up commands. Must be called first. */
  start(): Promise<void>;
  /** A connection stands. Frames of older ones are forgotten. */
  connected(wire: Wire): void;
  /** Takes what arrived, whatever it is. */
  frame(wire: Wire, value: unknown): void;
  disconnected(wire: Wire): void;
  /** Something was written that goes up. */
  wake(): void;
  /** A peer is heard with this command. */
  peerHeard(cid: string): void;
  /** Cloud time at most, epoch ms; null when nothing can be said. */
  latest(): number | null;
  stop(): void;
}

/** @source replication.md 6, liveness */
const PING_MS = 20_000;
/** own choice: nobody who waits for an order notices */
const ACTIVITIES_MS = 250;
/** Three times within a lease, so that it is kept though a ping is lost. @source replication.md 9: leases of 15 s */
const RENEW_MS = 5_000;

interface Connection extends Outlet {
  askedAt: number;
  files: FileTransfer | null;
  /** Head of the cloud's feed as last told, and since when this appliance does not stand there; monotonic ms. */
  behindSince: number | null;
  /** Commands that came before the welcome was taken. */
  early: Frame[];
}

/** So often it is looked whether an emergency is heard. own choice */
const LOOK_MS = 2;

/** Makes the appliance's side. */
export function createSite(needs: SiteNeeds): Site {
  const { store, clock, types, limits } = needs;
  const turns = createTurnQueue(needs.onFault);
  let connection: Connection | null = null;
  let time: CloudTime = createCloudTime(clock, null);
  let desk: CommandDesk | null = null;
  const timers: Timer[] = [];
  let isWoken = false;
  let trouble: string | null = null;
  let telling: Timer | null = null;
  /** An order ends with the next mark. */
  let awaitsMark = true;

  const pages = createPageQueue(turns, (wire, came) => orDrop(wire, onPages(wire, came)));
  const tellSome = () => store.transact(() => inOne(tellSlice, true));
  const pump = createPump({ store, limits, connection: () => connection, tellSome, giveWay });
  const journal = (): Journal => ({ types, about: needs.about, now: clock.now(), newId: needs.newId });
  const current = (wire: Wire): Connection | null => (connection?.wire === wire ? connection : null);
  const drop = (wire: Wire, code: string): void => {
    if (current(wire)) connection = null;
    wire.close(code);
  };
  /** What could not be stored did not come: the next connection begins where this appliance stands then. */
  const orDrop = (wire: Wire, job: Promise<void>): Promise<void> =>
    job.catch((error: unknown) => {
      drop(wire, "refused");
      throw error;
    });
  const take = (wire: Wire, frame: Frame, urgent = false): void =>
    turns.add(() => orDrop(wire, onFrame(wire, frame)), urgent);

  async function start(): Promise<void> {
    await store.transact(() => prepareLink(needs.endpoint, types.fingerprint));
    time = createCloudTime(clock, await store.transact(() => keptTime(clock.now())));
    const play: DeskNeeds["play"] = (command, on) =>
      isOwnOrder(command) ? ownOrder(command.kind, on) : needs.play(command, on);
    desk = createCommandDesk({ ...needs, play, journal, time, reported: tellSoon });
    await applyMark();
    const armed = await store.transact(() => resumeCommands(journal(), needs.resumed));
    for (const command of armed) desk.arm(command, true);
    tellSoon();
    timers.push(clock.every(PING_MS, () => turns.add(tick)));
    timers.push(clock.every(RENEW_MS, () => needs.groups().length > 0 && ping()));
  }

  /** What is urgent goes first, and an emergency has the machine to itself until it is heard. */
  async function giveWay(): Promise<void> {
    await turns.urgentFirst();
    while (desk?.isBeginning()) {
      await new Promise<void>((over) => clock.after(LOOK_MS, over, { background: true }));
      await turns.urgentFirst();
    }
  }

  /** `between` two transactions others have their turn. */
  async function applyMark(between?: () => Promise<void>): Promise<void> {
    while (!(await store.transact(() => inOne(applySlice, between !== undefined)))) await between?.();
  }

  /** As many slices as one transaction may have, none when something urgent came since it was asked for; true when that was all. */
  function* inOne(slice: (of: Journal, limits: Limits) => Work<boolean>, givesWay: boolean): Work<boolean> {
    const began = clock.monotonicMs();
    if (givesWay && turns.hasUrgent()) return false;
    do {
      if (yield* slice(journal(), limits)) return true;
    } while (clock.monotonicMs() - began < limits.sliceMs);
    return false;
  }

  async function tick(): Promise<void> {
    await store.transact(() => forgetOld(time.heard()));
    await store.transact(() => sendActivities(journal()));
    await lookForTrouble();
    if (!connection?.isLive) await keepTime();
    await pump.runAll();
    await connection?.files?.look();
    if (needs.groups().length === 0) ping();
  }

  async function lookForTrouble(): Promise<void> {
    const behindMs = clock.monotonicMs() - (connection?.behindSince ?? clock.monotonicMs());
    const found = await store.read(() => findTrouble(time.latest() ?? clock.now(), behindMs));
    if (found !== trouble) needs.onTrouble(found);
    trouble = found;
  }

  /** Orders that concern the link itself; those for all rows end with the mark of the resync. */
  function ownOrder(kind: OwnOrder, on: Parameters<DeskNeeds["play"]>[1]): () => void {
    turns.add(async () => {
      const told = await doOwnOrder(kind, { store, journal: journal(), cloudTime: time.heard(), giveWay });
      if (told) return on.ended("done", told);
      awaitsMark = true;
      if (connection) drop(connection.wire, "restored");
    });
    return () => {};
  }

  function ping(): void {
    if (connection?.isLive) connection.wire.send({ t: "ping", t0: clock.monotonicMs(), groups: needs.groups() });
  }

  async function sayHello(wire: Wire): Promise<void> {
    // A mark that could not be applied, such as for want of room on the disk, is in the way of all that follows.
    if ((await store.read(linkState)).marking) await applyMark(giveWay);
    const hello = await store.read(() => makeHello(types.fromCloud, limits.credit));
    const live = current(wire);
    if (!live) return;
    live.askedAt = clock.monotonicMs();
    wire.send(hello);
  }

  async function onWelcome(live: Connection, welcome: Welcome): Promise<void> {
    const accept = () => store.transact(() => acceptWelcome(welcome, journal()));
    let verdict = await accept();
    while (verdict === "more") verdict = await accept();
    if (verdict === "restored") desk?.forget(await store.transact(() => disownArmed(journal())));
    if (verdict !== "live") return drop(live.wire, verdict);
    await hearTime(welcome.ct, live.askedAt);
    desk?.verified();
    live.sent = { bulk: welcome.up.bulk.hw, hot: welcome.up.hot.hw };
    live.window = createSendWindow(welcome.credit);
    const send = (frame: Frame) => current(live.wire) && live.wire.send(frame);
    const onBadFile = (sha256: string): void =>
      needs.onFault(new UpstreamError("upstream", `The file ${sha256} is not what its name says.`));
    const { blobs } = needs;
    live.files = createFileTransfer({ store, limits, send, onBadFile, blobs, of: SITE_FILES, holder: "" });
    live.isLive = true;
    for (const frame of live.early) take(live.wire, frame, true);
    await pump.runAll();
    await live.files.look();
  }

  async function hearTime(ct: number, askedAt: number): Promise<void> {
    time.told(ct, askedAt);
    await keepTime();
  }

  /** The wall clock may have been set since. */
  async function keepTime(): Promise<void> {
    const kept = time.kept();
    if (!kept) return;
    await store.transact(function* () {
      yield* put(LINK, { ...(yield* linkState()), ct: kept.ct, ctWall: kept.wall });
    });
  }

  function wake(): void {
    if (isWoken) return;
    isWoken = true;
    turns.add(() => {
      isWoken = false;
      return pump.runAll();
    }, true);
  }

  /** Outcomes go at once; what people are shown of them follows, for all that end about now together. */
  function tellSoon(): void {
    wake();
    telling ??= clock.after(ACTIVITIES_MS, () => {
      telling = null;
      turns.add(async () => {
        await store.transact(() => sendActivities(journal()));
        await pump.runAll();
      });
    });
  }

  async function taken(live: Connection, frame: Frame & { t: "rows" | "snap" }, verdict: Taken): Promise<void> {
    if (verdict === "gap") return drop(live.wire, "gap");
    if (verdict === "marked") {
      const { to, mark } = frame as DownPage;
      await applyMark(giveWay);
      needs.onMark(to);
      if (mark?.digests) await compare(live, mark.digests);
    }
    const to = frame.t === "rows" ? frame.to : frame.h0;
    if (current(live.wire)) live.wire.send({ t: "ack", feed: "down.bulk", to });
    await live.files?.look();
    if (verdict !== "marked") return;
    // A mark ends the orders for one.
    if (awaitsMark) tellSoon();
    awaitsMark = false;
    await pump.runAll();
  }

  /** Stores them up to the first mark, which is applied before the next one is looked at. */
  async function onPages(wire: Wire, came: readonly DownPage[]): Promise<void> {
    for (let at = 0; at < came.length; ) {
      await giveWay();
      const live = current(wire);
      if (!live?.isLive) return;
      const verdicts = await store.transact(function* () {
        const stored: Taken[] = [];
        for (const page of turns.hasUrgent() ? [] : came.slice(at)) {
          stored.push(yield* receivePage(page, types));
          if (stored.at(-1) !== "staged") break;
        }
        return stored;
      });
      // Also when the connection ended meanwhile: a mark that is stored is applied.
      for (const verdict of verdicts) {
        await taken(live, came[at] as DownPage, verdict);
        at += 1;
      }
    }
  }

  async function compare(live: Connection, digests: NonNullable<DownPage["mark"]>["digests"] & object): Promise<void> {
    const different = await differingTypes({ store, clock, giveWay }, types.fromCloud, digests);
    if (different.length === 0) return;
    const again = await store.transact(() => noteMismatch(time.latest() ?? clock.now()));
    needs.onMismatch(different, again);
    if (again) return drop(live.wire, "restored");
    for (const type of different) {
      const own = await ownBuckets({ store, clock, giveWay }, type);
      if (current(live.wire)) live.wire.send({ t: "digest", type, ...own });
    }
  }

  async function onFrame(wire: Wire, frame: Frame): Promise<void> {
    const live = current(wire);
    if (!live) return;
    if (!live.isLive && frame.t !== "welcome") return;
    switch (frame.t) {
      case "welcome":
        return onWelcome(live, frame);
      case "snap":
        return taken(live, frame, await store.transact(() => receiveSnapPage(frame, types)));
      case "cmd": {
        const { armed, silence } = await store.transact(() => receiveCommand(frame, journal()), "emergency");
        if (armed) desk?.arm(armed, false);
        if (silence) desk?.silence(silence);
        if (armed?.needs) await live.files?.look();
        return pump.runAll();
      }
      case "heard":
        return desk?.peerHeard(frame.cid);
      case "ack":
        live.window.taken();
        await store.transact(function* () {
          yield* tellSent(journal(), yield* noteAcked(frame.feed === "up.hot" ? "hot" : "bulk", frame.to));
        });
        return pump.run();
      case "pong": {
        await hearTime(frame.ct, frame.t0);
        desk?.verified();
        const { applied } = await store.read(linkState);
        live.behindSince = applied < frame.head ? (live.behindSince ?? clock.monotonicMs()) : null;
        for (const lease of frame.leases) needs.onLease(lease, frame.t0 + lease.ttlMs);
        return;
      }
      case "repair": {
        const parts = new Set(frame.buckets);
        return void (await store.transact(() => repair(frame, (id) => parts.has(bucketOf(id)), journal())));
      }
      case "chunk":
        return live.files?.chunk(frame);
      case "need":
        return live.files?.need(frame.sha256, frame.from);
      case "err":
        return drop(wire, frame.code);
    }
  }

  return {
    start,
    connected(wire) {
      const window = createSendWindow({ frames: 0, bytes: 0 });
      const sent = { bulk: 0, hot: 0 };
      connection = { wire, askedAt: 0, isLive: false, window, files: null, sent, behindSince: null, early: [] };
      turns.add(() => orDrop(wire, sayHello(wire)));
    },
    frame(wire, value) {
      const live = current(wire);
      const read = readFrame(value, "hub");
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
      else if (isUrgent) take(wire, frame, true);
      else if (frame.t === "rows" && frame.feed === "down.bulk") pages.add(wire, frame);
      else {
        pages.close();
        take(wire, frame);
      }
    },
    disconnected(wire) {
      if (current(wire)) connection = null;
    },
    wake,
    peerHeard: (cid) => desk?.peerHeard(cid),
    latest: () => time.latest(),
    stop() {
      turns.stop();
      desk?.stop();
      for (const timer of timers) timer.cancel();
      telling?.cancel();
      connection = null;
    },
  };
}
