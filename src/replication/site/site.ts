import type { Clock, Timer } from "../../base/clock.ts";
import { bucketOf } from "../digests.ts";
import type { DownPage, Frame, Lane, Lease, Limits, Welcome, Wire } from "../frames.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { createTurnQueue } from "../turn-queue.ts";
import { put, type WorkStore } from "../work.ts";
import { type CloudTime, createCloudTime } from "./cloud-time.ts";
import { type CommandDesk, createCommandDesk, type DeskNeeds } from "./command-desk.ts";
import { differingTypes, noteMismatch, ownBuckets } from "./digest-check.ts";
import { applySlice, receivePage, receiveSnapPage, repair, type Taken } from "./down-feed.ts";
import { disownArmed, receiveCommand, resumeCommands } from "./inbox.ts";
import { linkState, makeHello, prepareLink } from "./link-state.ts";
import { forgetArrived, nextPage, noteAcked } from "./outbox.ts";
import { LINK } from "./tables.ts";
import { acceptWelcome } from "./welcome.ts";

/** What the appliance's side of the link is made of. */
export interface SiteNeeds extends Pick<DeskNeeds, "play" | "hasContact" | "newId"> {
  store: WorkStore;
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
  onFault(error: unknown): void;
}

/** The appliance's side of the link; it needs no cloud to work. */
export interface Site {
  /** Ends what a crash left half done and takes up commands. Must be called first. */
  start(): Promise<void>;
  /** A connection stands. Frames of older ones are forgotten. */
  connected(wire: Wire): void;
  frame(wire: Wire, frame: Frame): void;
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
/** Three times within a lease, so that it is kept though a ping is lost. @source replication.md 9: leases of 15 s */
const RENEW_MS = 5_000;
/** @source own choice: what is kept to go up, at most */
const MOST_OUT_BYTES = 256e6;

interface Connection {
  wire: Wire;
  askedAt: number;
  isLive: boolean;
  /** Frames that the cloud takes. */
  window: number;
  sent: Record<Lane, number>;
  inFlight: number;
  /** Commands that came before the welcome was taken. */
  early: Frame[];
}

/** Makes the appliance's side. */
export function createSite(needs: SiteNeeds): Site {
  const { store, clock, types, limits } = needs;
  const turns = createTurnQueue(needs.onFault);
  let connection: Connection | null = null;
  let time: CloudTime = createCloudTime(clock, null);
  let desk: CommandDesk | null = null;
  const timers: Timer[] = [];

  const current = (wire: Wire): Connection | null => (connection?.wire === wire ? connection : null);
  const drop = (wire: Wire, code: string): void => {
    if (current(wire)) connection = null;
    wire.close(code);
  };

  async function start(): Promise<void> {
    const link = await store.transact(() => prepareLink(needs.endpoint, types.fingerprint));
    const before = link.ct === null || link.ctWall === null ? null : { ct: link.ct, wall: link.ctWall };
    time = createCloudTime(clock, before);
    desk = createCommandDesk({ ...needs, time, reported: wake });
    await applyMark();
    for (const command of await store.transact(() => resumeCommands(needs.newId, clock.now()))) desk.arm(command, true);
    timers.push(clock.every(PING_MS, () => turns.add(tick)));
    timers.push(clock.every(RENEW_MS, () => needs.groups().length > 0 && ping()));
  }

  async function applyMark(): Promise<void> {
    while (!(await store.transact(() => applySlice(types, limits)))) {
      // Each slice is a transaction of its own.
    }
  }

  async function tick(): Promise<void> {
    for (const lane of ["bulk", "hot"] as const) {
      await store.transact(() => forgetArrived(lane, clock.now(), MOST_OUT_BYTES));
    }
    if (needs.groups().length === 0) ping();
  }

  function ping(): void {
    if (connection?.isLive) connection.wire.send({ t: "ping", t0: clock.monotonicMs(), groups: needs.groups() });
  }

  async function sayHello(wire: Wire): Promise<void> {
    const hello = await store.transact(() => makeHello(types.fromCloud));
    const live = current(wire);
    if (!live) return;
    live.askedAt = clock.monotonicMs();
    wire.send(hello);
  }

  async function onWelcome(live: Connection, welcome: Welcome): Promise<void> {
    const verdict = await store.transact(() => acceptWelcome(welcome));
    if (verdict === "restored") {
      desk?.forget(await store.transact(() => disownArmed(needs.newId, clock.now())));
      return drop(live.wire, "restored");
    }
    if (verdict === "gap") return drop(live.wire, "gap");
    await hearTime(welcome.ct, live.askedAt);
    desk?.verified();
    live.sent = { bulk: welcome.up.bulk.hw, hot: welcome.up.hot.hw };
    live.window = welcome.credit;
    live.isLive = true;
    for (const frame of live.early) turns.add(() => onFrame(live.wire, frame), true);
    await pump();
  }

  async function hearTime(ct: number, askedAt: number): Promise<void> {
    time.told(ct, askedAt);
    const kept = time.kept();
    if (!kept) return;
    await store.transact(function* () {
      yield* put(LINK, { ...(yield* linkState()), ct: kept.ct, ctWall: kept.wall });
    });
  }

  /** Sends what there is while the cloud takes it, the hot feed first. */
  async function pump(): Promise<void> {
    for (const lane of ["hot", "bulk"] as const) {
      for (let live = connection; live?.isLive && live.inFlight < live.window; live = connection) {
        const page = await store.transact(() => nextPage(lane, (live as Connection).sent[lane], limits));
        if (!page || connection !== live) break;
        live.sent[lane] = page.to;
        live.inFlight += 1;
        live.wire.send(page);
      }
    }
  }

  function wake(): void {
    turns.add(pump, true);
  }

  async function taken(live: Connection, frame: Frame & { t: "rows" | "snap" }, verdict: Taken): Promise<void> {
    if (verdict === "gap") return drop(live.wire, "gap");
    if (verdict === "marked") {
      const { to, mark } = frame as DownPage;
      await applyMark();
      needs.onMark(to);
      if (mark?.digests) await compare(live, mark.digests);
    }
    const to = frame.t === "rows" ? frame.to : frame.h0;
    if (current(live.wire)) live.wire.send({ t: "ack", feed: "down.bulk", to });
  }

  async function compare(live: Connection, digests: NonNullable<DownPage["mark"]>["digests"] & object): Promise<void> {
    const different = await store.transact(() => differingTypes(types.fromCloud, digests));
    if (different.length === 0) return;
    const again = await store.transact(() => noteMismatch(time.latest() ?? clock.now()));
    needs.onMismatch(different, again);
    if (again) return drop(live.wire, "restored");
    for (const type of different) {
      const own = await store.transact(() => ownBuckets(type));
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
      case "rows":
        if (frame.feed !== "down.bulk") return;
        return taken(live, frame, await store.transact(() => receivePage(frame, types)));
      case "snap":
        return taken(live, frame, await store.transact(() => receiveSnapPage(frame, types)));
      case "cmd": {
        const { armed, silence } = await store.transact(
          () => receiveCommand(frame, needs.newId(), clock.now()),
          "emergency",
        );
        if (armed) desk?.arm(armed, false);
        if (silence) desk?.silence(silence);
        return pump();
      }
      case "heard":
        return desk?.peerHeard(frame.cid);
      case "ack":
        live.inFlight -= 1;
        await store.transact(() => noteAcked(frame.feed === "up.hot" ? "hot" : "bulk", frame.to));
        return pump();
      case "pong": {
        await hearTime(frame.ct, frame.t0);
        desk?.verified();
        for (const lease of frame.leases) needs.onLease(lease, frame.t0 + lease.ttlMs);
        return;
      }
      case "repair": {
        const parts = new Set(frame.buckets);
        await store.transact(() => repair(frame, (id) => parts.has(bucketOf(id)), types));
        return;
      }
      case "err":
        return drop(wire, frame.code);
    }
  }

  return {
    start,
    connected(wire) {
      connection = { wire, askedAt: 0, isLive: false, window: 0, sent: { bulk: 0, hot: 0 }, inFlight: 0, early: [] };
      turns.add(() => sayHello(wire));
    },
    frame(wire, frame) {
      const live = current(wire);
      const isUrgent = frame.t === "cmd" || frame.t === "heard";
      // Commands overtake all else, but neither the welcome nor each other.
      if (live && isUrgent && !live.isLive) live.early.push(frame);
      else turns.add(() => onFrame(wire, frame), isUrgent);
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
      connection = null;
    },
  };
}
