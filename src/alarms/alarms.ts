import type { Clock, Timer } from "../base/clock.ts";
import { ConflictError, invalidValue } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { MessageNeeds } from "../broadcast/queued-messages.ts";
import type alarmEvents from "../resources/alarms/alarm-events.ts";
import { ALARM_IDS, ALARM_TYPES, type AlarmType } from "../resources/alarms/alarm-types.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Sync } from "../store/store.ts";
import { type Detector, type Finding, UNKNOWN_DEVICES_MARK } from "./detectors.ts";
import { clear, type Fault, HOLD, type Hold, isActive, type Look, look } from "./fault.ts";
import { takeFirings } from "./messages.ts";
import { type FaultKey, readFaults, writeLook } from "./transitions.ts";

type AlarmEvent = RowOf<typeof alarmEvents>;

/** What alarms are made of. */
export interface AlarmNeeds extends MessageNeeds {
  clock: Clock;
  events: Events;
  detectors: readonly Detector[];
  /** This appliance's endpoint, where faults are whose teller names no other. */
  endpointId(): string;
  hold?: Hold;
}

/** The watch over the appliance. */
export interface Alarms {
  /** Takes up what an earlier run left, then looks every 5 s and whenever a room tells of a change. */
  start(): void;
  stop(): Promise<void>;
  /** Resolves once nothing that was asked for is under way. */
  idle(): Promise<void>;
  /**
   * Somebody says that an alarm is OK; its event. Throws CallerError for another alarm or status than those that people
   * may set, ConflictError when it is not active.
   */
  setByHand(alarmId: string, status: unknown, by: By): Promise<AlarmEvent>;
}

const LOOK_EVERY_MS = 5_000;

/** Makes the watch. One look is under way at a time, so that every change of status is written once. */
export function createAlarms(needs: AlarmNeeds): Alarms {
  const { store, clock, events, log, detectors, by, hold = HOLD } = needs;
  const ending = new AbortController();
  const findings = new Map<Detector, { at: number; found: readonly Finding[] }>();
  let faults: Map<string, { key: FaultKey; fault: Fault }> | null = null;
  let chain: Promise<unknown> = Promise.resolve();
  let waiting = false;
  let timer: Timer | null = null;
  let stopListening: (() => void)[] = [];

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = chain.then(work);
    chain = run.catch(() => undefined);
    return run;
  }

  function wake(): void {
    if (waiting || ending.signal.aborted) return;
    waiting = true;
    inTurn(async () => {
      waiting = false;
      await lookAround();
      await takeFirings(needs, ending.signal);
    }).catch((error: unknown) => log.error({ err: error }, "looking for alarms failed"));
  }

  function known(): NonNullable<typeof faults> {
    faults ??= new Map(readFaults(store, clock.now()).map((each) => [nameOf(each.key), each]));
    return faults;
  }

  /** What each alarm's detector found; alarms whose detector failed are left out, since nothing is known of them. */
  function findAll(now: number): ReadonlyMap<AlarmType, readonly Finding[]> {
    const found = new Map<AlarmType, Finding[]>();
    for (const detector of detectors) {
      try {
        const before = findings.get(detector);
        const isFresh = before && now - before.at < detector.everyMs && now >= before.at;
        const current = isFresh ? before : { at: now, found: detector.find(now) };
        findings.set(detector, current);
        for (const alarm of detector.alarms) found.set(alarm, found.get(alarm) ?? []);
        for (const finding of current.found) found.get(finding.alarm)?.push(finding);
      } catch (error) {
        log.error({ err: error, alarms: detector.alarms }, "a detector of alarms failed");
      }
    }
    return found;
  }

  async function lookAround(): Promise<void> {
    const now = clock.now();
    for (const [alarm, found] of findAll(now)) {
      for (const key of keysOf(alarm, found, known())) {
        const seen = found.filter(({ endpointId }) => endpointId === key.endpointId);
        await take(key, look(known().get(nameOf(key))?.fault ?? new Map(), seen, now, hold), now);
      }
    }
  }

  /** Memory follows the rows: what could not be written is looked at again. */
  async function take(key: FaultKey, seen: Look, now: number, as = by): Promise<AlarmEvent | null> {
    let event: AlarmEvent | null = null;
    if (seen.entered || seen.began.length > 0 || seen.ended.length > 0) {
      event = await store.write((tx) => writeLook(tx, key, seen, now, as) as Sync<AlarmEvent | null>);
    }
    if (seen.fault.size > 0) known().set(nameOf(key), { key, fault: seen.fault });
    else known().delete(nameOf(key));
    return event;
  }

  /** Keeps what a room told, until it takes it back. */
  function takeTold({ alarm, code, endpointId, reason }: ToldFault): void {
    if (!(ALARM_TYPES as readonly string[]).includes(alarm)) return;
    const key = [alarm, endpointId ?? needs.endpointId(), code];
    const written = store.write((tx) => {
      if (reason === null) tx.run("DELETE FROM alarm_told WHERE alarm = ? AND endpoint = ? AND code = ?", ...key);
      else {
        const sql = "INSERT OR REPLACE INTO alarm_told (alarm, endpoint, code, reason, at) VALUES (?, ?, ?, ?, ?)";
        tx.run(sql, ...key, reason, clock.now());
      }
    });
    written.then(hurry).catch((error: unknown) => log.error({ err: error }, "a fault that was told is lost"));
  }

  /** Looks again at once, whatever was found a moment ago. */
  function hurry(): void {
    findings.clear();
    wake();
  }

  return {
    start() {
      const hurried = ["plugin.changed", "load.failed", "scenario.device-unknown", "bell.missed"] as const;
      stopListening = [...hurried.map((name) => events.on(name, hurry)), events.on("fault.changed", takeTold)];
      timer = clock.every(LOOK_EVERY_MS, wake);
      wake();
    },
    async stop() {
      for (const off of stopListening) off();
      timer?.cancel();
      ending.abort();
      await chain;
    },
    async idle() {
      for (let seen: unknown = null; seen !== chain; ) {
        seen = chain;
        await chain;
      }
    },
    setByHand(alarmId, status, as) {
      if (alarmId !== ALARM_IDS.scenario_device_resolution_failed) {
        throw invalidValue("alarmId", "Only events of scenario_device_resolution_failed are made by hand.");
      }
      if (status !== "OK") throw invalidValue("status", "Only OK is set by hand.");
      return inTurn(async () => {
        const active = [...known().values()].filter(
          ({ key, fault }) => ALARM_IDS[key.alarm] === alarmId && isActive(fault),
        );
        let last: AlarmEvent | null = null;
        if (active.length > 0) await store.write((tx) => void tx.run(FORGIVE));
        for (const { key, fault } of active) last = (await take(key, clear(fault), clock.now(), as)) ?? last;
        if (!last) throw new ConflictError("The alarm is not active.");
        hurry();
        return last;
      });
    },
  };
}

interface ToldFault {
  alarm: string;
  code: string;
  endpointId: string | null;
  reason: string | null;
}

const FORGIVE = `INSERT OR REPLACE INTO alarm_marks (name, seq)
  VALUES ('${UNKNOWN_DEVICES_MARK}', (SELECT COALESCE(MAX(seq), 0) FROM scenario_unknown_devices))`;

function nameOf({ alarm, endpointId }: FaultKey): string {
  return `${alarm} ${endpointId}`;
}

/** Appliances at which an alarm has something wrong now or had before. */
function keysOf(
  alarm: AlarmType,
  found: readonly Finding[],
  known: ReadonlyMap<string, { key: FaultKey }>,
): FaultKey[] {
  const endpoints = new Set(found.map(({ endpointId }) => endpointId));
  for (const { key } of known.values()) if (key.alarm === alarm) endpoints.add(key.endpointId);
  return [...endpoints].map((endpointId) => ({ alarm, endpointId }));
}
