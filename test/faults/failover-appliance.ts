import { join } from "node:path";
import { createFailoverRings } from "../../src/bells/failover-rings.ts";
import { toOccurrence } from "../../src/bells/plan-source.ts";
import { createPlanner, type PlanSource } from "../../src/bells/planner.ts";
import type { RingRow } from "../../src/bells/ring-repository.ts";
import { expandSchedule, type RingSchedule } from "../../src/bells/schedule-expansion.ts";
import { BELL_TABLES } from "../../src/bells/schema.ts";
import { createTicker, type RingExecutor, type Ticker } from "../../src/bells/ticker.ts";
import { selectLikeness } from "../../src/devices/activation-groups.ts";
import { createFailover, type Failover } from "../../src/failover/failover.ts";
import type { PeerHeartbeat } from "../../src/failover/heartbeat.ts";
import type { FailoverGroup } from "../../src/failover/membership.ts";
import type { Clock, Timer } from "../../src/lib/clock.ts";
import { createEvents } from "../../src/lib/events.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { createTimeZones } from "../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../src/time-zones/zone-data.ts";
import { clockOf, type VirtualTime } from "../sim/virtual-time.ts";

/** What was heard of a bell at one appliance. */
export interface BellSounding {
  ring: string;
  at: number;
  appliance: string;
  /** To whose devices it went: ids of groups, and the appliance's own for devices that it alone has. */
  groups: readonly string[];
  /** True time of the first packet, and that at which it fell silent. */
  from: number;
  to: number;
  /** It fell silent before its end. */
  cut: boolean;
}

/** What an appliance of the simulation is made of. */
export interface SimulatedFailoverApplianceDeps {
  id: string;
  time: VirtualTime;
  dataDir: string;
  skewMs: number;
  groups: readonly FailoverGroup[];
  /** Each bell goes to devices, too, that only this appliance has. */
  hasOwnDevices: boolean;
  /** Local times of the bells, of one day, in UTC. */
  bells: readonly string[];
  soundMs(): number;
  /** From the last ask to the first packet, when devices were asked late. */
  joinMs(): number;
  send(beat: PeerHeartbeat): void;
  sounded(sounding: BellSounding): void;
  doubled(id: string, why: string): void;
}

/** An appliance with the product's own ticker and failover; its devices are counted packets. */
export interface SimulatedFailoverAppliance {
  readonly id: string;
  readonly isUp: boolean;
  readonly isFrozen: boolean;
  start(): void;
  /** Ends the process between two turns of its loop: nothing is written, nothing is said. */
  kill(): void;
  /** Stops the process where it stands; what is sent to it waits. */
  freeze(): void;
  thaw(): void;
  take(beat: PeerHeartbeat): void;
  failover(): Failover | null;
  close(): Promise<void>;
}

interface Message {
  begun: boolean;
  covers: string[];
  left: string[];
  isAlsoAlone: boolean;
}

/** Makes it, not running. */
export function createFailoverAppliance(needs: SimulatedFailoverApplianceDeps): SimulatedFailoverAppliance {
  const { id, time, groups } = needs;
  /** What lies on the disk beside the database: messages, whether their sound began, and how they were shared out. */
  const messages = new Map<string, Message>();
  const playing = new Map<string, BellSounding>();
  let life: { clock: Clock; failover: Failover; ticker: Ticker; end(): void } | null = null;
  let frozen: { held: (() => void)[] } | null = null;
  let boots = 0;
  const store = openDisk(needs);

  const silence = (cut: boolean): void => {
    for (const sounding of playing.values()) {
      if (sounding.to > time.now()) {
        sounding.to = time.now();
        sounding.cut = cut;
      }
    }
    playing.clear();
  };

  function portOf(clock: Clock, failover: Failover): RingExecutor {
    const armedAt = new Map<string, number>();
    const others = new Set<string>();
    const standIns = createFailoverRings({
      clock,
      log: silentLog,
      delegatedGroups: (ring) => messages.get(ring.id)?.left ?? [],
      duty: (ring, group) => failover.decideDuty(ring.id, ring.at, [group], group),
      async send(ring, ids) {
        const first = Math.max(ring.at, clock.now() + needs.joinMs());
        const parts = ids.map((part) => ({ id: ring.id, part, groups: [part] }));
        failover.markStarted(parts, first);
        clock.after(first - clock.now(), () => sound(ring, parts, ids, clock, failover));
        return null;
      },
      abort: async () => undefined,
    });
    return {
      async prepare(ring) {
        if (!messages.has(ring.id)) messages.set(ring.id, { begun: false, ...shareOut(ring, failover) });
        return null;
      },
      duty(ring) {
        const { covers = [], isAlsoAlone = false } = messages.get(ring.id) ?? {};
        const isUntouched = ring.asked === 0 && !standIns.hasTakenOver(ring.id);
        if (isUntouched && failover.isDutyStale(ring.id, covers, isAlsoAlone)) return "replan";
        standIns.watch(ring);
        const turn = failover.decideDuty(ring.id, ring.at, covers);
        if (turn !== "yield") return turn;
        if (isAlsoAlone) standIns.add(ring, [id]);
        others.add(ring.id);
        return { standDown: "Rung by another appliance." };
      },
      arm(rings) {
        for (const ring of rings) armedAt.set(ring.id, clock.now());
      },
      start(rings) {
        for (const ring of rings) {
          const joined = (armedAt.get(ring.id) ?? clock.now()) + needs.joinMs();
          const first = Math.max(ring.at, joined, clock.now() + 10);
          const message = messages.get(ring.id) as Message;
          message.begun = true;
          const whole = [{ id: ring.id, part: null, groups: message.covers }];
          failover.markStarted(whole, first);
          const devices = message.isAlsoAlone ? [...message.covers, id] : message.covers;
          clock.after(first - clock.now(), () => sound(ring, whole, devices, clock, failover));
        }
      },
      async cancel(ring) {
        if (!others.delete(ring.id)) await standIns.cancel(ring.id);
        messages.delete(ring.id);
      },
      hasStarted: (ring) => messages.get(ring.id)?.begun === true,
      recordMissed: () => undefined,
    };
  }

  /** As the product shares a ring's devices out. */
  function shareOut(ring: RingRow, failover: Failover): Omit<Message, "begun"> {
    const shares = groups.map((group) => ({
      id: group.id,
      like: failover.assignDuty(ring.id, group.id).equivalenceKey,
    }));
    const likes = shares.map(({ like }) => like);
    const taken = selectLikeness(needs.hasOwnDevices ? [id, ...likes] : likes, id);
    const idsWhere = (isOurs: boolean): string[] =>
      shares.flatMap((share) => ((share.like === taken) === isOurs ? [share.id] : []));
    return { covers: idsWhere(true), left: idsWhere(false), isAlsoAlone: needs.hasOwnDevices };
  }

  function sound(
    { id: ring, at }: Pick<RingRow, "id" | "at">,
    parts: readonly { id: string; part: string | null }[],
    ids: readonly string[],
    clock: Clock,
    failover: Failover,
  ): void {
    const lasts = needs.soundMs();
    const from = time.now();
    const sounding = { ring, at, appliance: id, groups: ids, from, to: from + lasts, cut: false };
    const key = `${ring} ${ids.join()}`;
    playing.set(key, sounding);
    needs.sounded(sounding);
    clock.after(lasts, () => {
      playing.delete(key);
      failover.markEnded(parts);
    });
  }

  function start(): void {
    let alive = true;
    boots += 1;
    const isAlive = (): boolean => alive;
    const clock = lifeClock(needs, isAlive, () => frozen?.held ?? null);
    const disk = diskOf(store, isAlive);
    const failover = createFailover({
      ownId: id,
      version: "1",
      boot: `${id}/${boots}`,
      clock,
      groups: () => groups,
      lease: () => null,
      hasCloud: () => false,
      hasNetwork: () => true,
      send: needs.send,
      onPeerSound: () => undefined,
      hasBegun({ id: ring, groups: theirs }) {
        const { begun = false, covers = [] } = messages.get(ring) ?? {};
        return begun && (theirs === null || covers.some((cover) => theirs.has(cover)));
      },
      onDuplicate: needs.doubled,
      onTakeover: () => undefined,
    });
    const planner = createPlanner({ store: disk, clock, source: bellsOf(needs.bells), basis: () => "failover" });
    const ringExecutor = portOf(clock, failover);
    const ticker = createTicker({ store: disk, clock, log: silentLog, planner, ringExecutor });
    failover.start();
    ticker.start();
    life = {
      clock,
      failover,
      ticker,
      end() {
        alive = false;
      },
    };
  }

  return {
    id,
    get isUp() {
      return life !== null;
    },
    get isFrozen() {
      return frozen !== null;
    },
    start,
    kill() {
      silence(true);
      life?.end();
      life = null;
      frozen = null;
    },
    freeze() {
      silence(true);
      frozen = { held: [] };
    },
    thaw() {
      const held = frozen?.held ?? [];
      frozen = null;
      for (const fn of held) fn();
    },
    take(beat) {
      if (!life) return;
      const { failover } = life;
      // What came meanwhile is read a moment after timers that were due.
      if (frozen) frozen.held.push(() => life?.clock.after(needs.joinMs() / 2, () => failover.receive(beat)));
      else failover.receive(beat);
    },
    failover: () => life?.failover ?? null,
    async close() {
      life?.end();
      await store.close();
    },
  };
}

function openDisk({ time, dataDir, id }: SimulatedFailoverApplianceDeps): Store {
  const fail = (error: unknown): never => {
    throw error;
  };
  return openStore({
    dataDir: join(dataDir, id),
    catalogue: createCatalogue([]),
    tables: BELL_TABLES,
    clock: clockOf(time, { skewMs: 0, drift: 0 }, () => true),
    events: createEvents(fail),
    log: silentLog,
    onFatal: fail,
  });
}

/** A process that has ended writes nothing more and hears of nothing. */
function diskOf(store: Store, isAlive: () => boolean): Store {
  const never = new Promise<never>(() => {});
  const write: Store["write"] = (fn, lane) =>
    isAlive() ? store.write(fn, lane).then((value) => (isAlive() ? value : never)) : never;
  return { ...store, write };
}

/** The clock of one run; while the process stands still, what is due is `held`. */
function lifeClock(
  { time, skewMs }: SimulatedFailoverApplianceDeps,
  isAlive: () => boolean,
  held: () => (() => void)[] | null,
): Clock {
  const clock = clockOf(time, { skewMs, drift: 0 }, isAlive);
  const later = (fn: () => void) => (): void => {
    const waiting = held();
    if (waiting) waiting.push(() => isAlive() && fn());
    else fn();
  };
  return {
    ...clock,
    after: (delayMs: number, fn: () => void): Timer => clock.after(delayMs, later(fn)),
    every: (periodMs, fn) => clock.every(periodMs, later(fn)),
  };
}

function bellsOf(times: readonly string[]): PlanSource {
  const zones = createTimeZones(machineZoneData());
  const entries = times.map((time) => {
    return { id: `e${time}`, time, messageTemplateId: "m", deviceGroupIds: [], distributionListIds: [] };
  });
  const schedule = {
    ...{ id: "s", timeZone: "UTC", startDate: "2026-01-12", endDate: "2026-01-18", numWeeks: 1 },
    entries: [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: "l" })),
  } as unknown as RingSchedule;
  return {
    owners: () => [{ id: "s", kind: "bell" as const }],
    occurrences: (_reader, _kind, _owner, from, to) =>
      expandSchedule(schedule, [{ id: "l", entries }], [], from, to, { zones }).map(toOccurrence),
  };
}
