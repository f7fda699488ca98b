import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seedAlarms } from "../../src/alarms/alarm-hooks.ts";
import { type Alarms, createAlarms } from "../../src/alarms/alarms.ts";
import type { AlarmDetector, AlarmFinding } from "../../src/alarms/detectors.ts";
import { DEFAULT_HOLD_OFF } from "../../src/alarms/hold-off.ts";
import { ALARM_TABLES } from "../../src/alarms/schema.ts";
import { createEvents } from "../../src/lib/events.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { NotificationService } from "../../src/notifications/notification-service.ts";
import alarmActions from "../../src/resources/alarms/alarm-actions.ts";
import alarmEvents from "../../src/resources/alarms/alarm-events.ts";
import { ALARM_IDS, type AlarmType } from "../../src/resources/alarms/alarm-types.ts";
import alarms from "../../src/resources/alarms/alarms.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import domains from "../../src/resources/domains/domains.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { fullScope } from "../../src/store/full-scope.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { ActorContext, Store } from "../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";

/** How much is simulated; equal seeds give equal runs. */
export interface FlapOptions {
  flaps: number;
  crashes: number;
  seed: number;
}

/** What a run came to; a promise that was broken is told in `broken`. */
export interface AlarmFlapRun {
  flaps: number;
  crashes: number;
  /** Events written, messages sent, and events that were muted. */
  events: number;
  messages: number;
  muted: number;
  virtualHours: number;
  broken: string[];
}

const TYPES = ["onprem_server_red", "speakers_unregistered"] as const satisfies readonly AlarmType[];
const STEP_MS = 5_000;
/** After so long without a change everything that is to be said has been said. */
const SETTLED_MS = DEFAULT_HOLD_OFF.raiseMs + DEFAULT_HOLD_OFF.clearMs + 4 * STEP_MS;

/** One fault that comes and goes, and what its rows must show. */
interface Flapping {
  alarm: (typeof TYPES)[number];
  endpointId: string;
  wrong: boolean;
  /** Virtual time of the next change, of the last one, and of the last crash. */
  nextAt: number;
  changedAt: number;
}

/**
 * Lets faults of two alarms at two appliances come and go at random times in virtual time while alarms are muted and
 * heard again, crashing before and after commits. Each crash ends the watch for ever; another begins on the same rows.
 */
export async function flapAlarms({ flaps, crashes, seed }: FlapOptions): Promise<AlarmFlapRun> {
  const random = createRandom(seed);
  const world = await openWorld();
  const { clock, store, faults } = world;
  const began = clock.now();
  const crashAt = new Set(Array.from({ length: crashes }, (_, at) => Math.floor(((at + random()) * flaps) / crashes)));
  const run: AlarmFlapRun = { flaps: 0, crashes: 0, events: 0, messages: 0, muted: 0, virtualHours: 0, broken: [] };
  let watch = world.begin();
  let lastCrash = 0;
  for (const fault of faults) fault.nextAt = clock.now() + pause(random);
  try {
    while (run.flaps < flaps) {
      await world.pass(watch, STEP_MS);
      if (watch.isDead()) {
        run.crashes += 1;
        watch = world.begin();
        lastCrash = clock.now();
      }
      for (const fault of faults) if (clock.now() >= fault.nextAt) flap(fault);
      if (random() < 0.002) await world.setMuted(random() < 0.5);
      run.broken.push(...world.unsaid(lastCrash));
    }
    for (const fault of faults) Object.assign(fault, { wrong: false, changedAt: clock.now() });
    watch.disarm();
    if (watch.isDead()) watch = world.begin();
    for (let left = 3 * SETTLED_MS; left > 0; left -= STEP_MS) await world.pass(watch, STEP_MS);
    run.broken.push(...judge(world));
    run.events = store.count(alarmEvents, {});
    run.messages = world.sent.length;
    run.muted = world.mutedEvents();
    run.virtualHours = Math.round((clock.now() - began) / 360_000) / 10;
    return run;
  } finally {
    await watch.stop();
    await world.close();
  }

  function flap(fault: Flapping): void {
    if (crashAt.has(run.flaps)) watch.arm(Math.floor(random() * 4), random() < 0.5);
    run.flaps += 1;
    Object.assign(fault, { wrong: !fault.wrong, changedAt: clock.now(), nextAt: clock.now() + pause(random) });
  }
}

/** Most pauses are shorter than the hold-off, some are much longer. */
function pause(random: () => number): number {
  return random() < 0.7 ? random() * 20_000 : random() * 400_000;
}

/** A linear congruential generator. @source Knuth, MMIX */
function createRandom(seed: number): () => number {
  let state = BigInt(seed);
  return () => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffffffffffffffffn;
    return Number(state >> 11n) / 2 ** 53;
  };
}

/** A watch that can be killed: from then on nothing that it asks for is ever answered. */
interface Mortal {
  /** Lets it die at the write after `writes` more, before it or (`late`) once it is committed. */
  arm(writes: number, late: boolean): void;
  disarm(): void;
  isDead(): boolean;
  idle(): Promise<void>;
  stop(): Promise<void>;
}

interface World {
  clock: FakeClock;
  store: Store;
  faults: Flapping[];
  /** Keys of the messages that were stored, in order. */
  sent: string[];
  begin(): Mortal;
  pass(watch: Mortal, ms: number): Promise<void>;
  setMuted(muted: boolean): Promise<void>;
  /** When the alarms were muted and heard again, in order. */
  mutes: { at: number; muted: boolean }[];
  /** Faults that stand for so long that their alarm must have followed. */
  unsaid(lastCrash: number): string[];
  mutedEvents(): number;
  close(): Promise<void>;
}

async function openWorld(): Promise<World> {
  const clock = createFakeClock();
  const dataDir = mkdtempSync(join(tmpdir(), "carillon-flaps-"));
  const fail = (error: unknown): never => {
    throw error;
  };
  const events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const store = openStore({
    ...{ dataDir, catalogue, clock, events, log: silentLog, onFatal: fail },
    hooks: {},
    tables: ALARM_TABLES,
  });
  let rootId: string | null = null;
  const by: ActorContext = {
    actor: { kind: "system", userId: null, name: "flaps", address: null },
    scope: fullScope(() => rootId),
  };
  rootId = (await store.create(domains, { name: "Root" }, by)).id;
  const { id: extensionId } = await store.create(extensions, { name: "onprem", type: "endpoint-proxy" }, by);
  const faults: Flapping[] = [];
  for (const name of ["North", "South"]) {
    const { id } = await store.create(endpoints, { extensionId, name }, by);
    for (const alarm of TYPES) faults.push({ alarm, endpointId: id, wrong: false, nextAt: 0, changedAt: clock.now() });
  }
  await store.write((tx) => seedAlarms(tx, by));
  for (const alarm of TYPES) {
    for (const status of ["ACTIVE", "ACTIVE", "OK"] as const) {
      await store.create(alarmActions, { alarmId: ALARM_IDS[alarm], triggerOnStatus: status }, by);
    }
  }
  const sent: string[] = [];
  const mutes: World["mutes"] = [];
  const statusOf = ({ alarm, endpointId }: Flapping): string =>
    store.find(alarmEvents, { alarmId: ALARM_IDS[alarm], endpointId }, 1_000_000).at(-1)?.status ?? "OK";

  return {
    ...{ clock, store, faults, sent, mutes },
    begin: () => beginMortal({ clock, store, faults, sent, by }),
    async pass(watch, ms) {
      await clock.advance(ms);
      // What a dead watch waits for never comes.
      while (!watch.isDead()) {
        const isIdle = await Promise.race([watch.idle().then(() => true), turn().then(() => false)]);
        if (isIdle) return;
      }
    },
    async setMuted(muted) {
      for (const alarm of TYPES) await store.update(alarms, ALARM_IDS[alarm], { muted }, by);
      mutes.push({ at: clock.now(), muted });
    },
    unsaid: (lastCrash) =>
      faults.flatMap((fault) => {
        const since = clock.now() - Math.max(fault.changedAt, lastCrash);
        if (since < SETTLED_MS || since >= SETTLED_MS + STEP_MS) return [];
        const wanted = fault.wrong ? "ACTIVE" : "OK";
        return statusOf(fault) === wanted ? [] : [`${fault.alarm} is not ${wanted} after ${since} ms`];
      }),
    mutedEvents: () =>
      store.find(alarmEvents, {}, 1_000_000).filter(({ createdAt }) => wasMuted(mutes, createdAt)).length,
    async close() {
      await store.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

function wasMuted(mutes: World["mutes"], at: number): boolean {
  // Muted between two looks: an event of that very look was written before.
  return mutes.filter((each) => each.at < at).at(-1)?.muted ?? false;
}

function beginMortal(world: Pick<World, "clock" | "store" | "faults" | "sent"> & { by: ActorContext }): Mortal {
  const { clock, store, faults, sent, by } = world;
  let dead = false;
  let fuse: { writes: number; late: boolean } | null = null;
  const write: Store["write"] = async (fn) => {
    if (dead) return never();
    const dies = fuse !== null && fuse.writes-- <= 0;
    if (dies) dead = true;
    if (dies && !fuse?.late) return never();
    const result = await store.write(fn);
    return dies ? never() : result;
  };
  const mortal = Object.assign(Object.create(store) as Store, { write });
  const detector: AlarmDetector = {
    ...{ alarms: TYPES, everyMs: STEP_MS },
    find: (): AlarmFinding[] =>
      faults.flatMap(({ alarm, endpointId, wrong }) =>
        wrong ? [{ alarm, endpointId, code: "it", reason: "It is broken." }] : [],
      ),
  };
  const send: NotificationService["send"] = (_input, as) =>
    write((tx) => {
      if (!as.idempotencyClaim) throw new Error("a message without a key");
      store.idempotency.recordRow(as.idempotencyClaim, "notifications", as.idempotencyClaim.key);
      sent.push(as.idempotencyClaim.key);
      tx.run("UPDATE alarm_watermarks SET seq = seq WHERE name = ''");
    }) as never;
  const events = createEvents(() => undefined);
  const watch: Alarms = createAlarms({
    ...{ store: mortal, clock, events, log: silentLog, by, detectors: [detector], endpointId: () => "" },
    notificationService: { send },
  });
  watch.start();
  return {
    arm(writes, late) {
      fuse ??= { writes, late };
    },
    disarm() {
      fuse = null;
    },
    isDead: () => dead,
    idle: watch.idle,
    stop: () => (dead ? Promise.resolve() : watch.stop()),
  };
}

/** Events of each fault alternate, none follows another sooner than the hold-off allows, and each was told as it should be. */
function judge({ store, faults, sent, mutes }: World): string[] {
  const broken: string[] = [];
  const keys = new Map<string, number>();
  for (const key of sent) keys.set(key, (keys.get(key) ?? 0) + 1);
  if (keys.size < sent.length) broken.push(`${sent.length - keys.size} messages were sent twice`);
  const waiting = store.one<{ n: number }>("SELECT COUNT(*) AS n FROM alarm_pending_actions")?.n;
  if (waiting !== 0) broken.push(`${waiting} actions still wait`);
  let expected = 0;
  for (const { alarm, endpointId } of faults) {
    const events = store.find(alarmEvents, { alarmId: ALARM_IDS[alarm], endpointId }, 1_000_000);
    let raisedAt = Number.NEGATIVE_INFINITY;
    for (const [at, { status, createdAt }] of events.entries()) {
      if (status !== (at % 2 === 0 ? "ACTIVE" : "OK")) broken.push(`event ${at} of ${alarm} is ${status}`);
      if (status === "ACTIVE" && createdAt - raisedAt < DEFAULT_HOLD_OFF.clearMs)
        broken.push(`${alarm} was raised again too soon`);
      if (status === "ACTIVE") raisedAt = createdAt;
      if (!wasMuted(mutes, createdAt)) expected += status === "ACTIVE" ? 2 : 1;
    }
    if (events.length % 2 !== 0) broken.push(`${alarm} is still active`);
  }
  if (sent.length !== expected) broken.push(`${sent.length} messages were sent, ${expected} expected`);
  for (const alarm of TYPES) {
    if (store.get(alarms, ALARM_IDS[alarm])?.status !== "OK") broken.push(`${alarm} is not OK at the end`);
  }
  return broken;
}
