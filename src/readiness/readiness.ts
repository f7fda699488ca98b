import { type Clock, type Timer, yieldToEventLoop } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { CallerError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { asGiven, type Sentence, type SentenceCode, sentence } from "../lib/sentences/sentences.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { HealthReason } from "../ops/health/health.ts";
import { readOperationState, writeOperationState } from "../ops/operation-state.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext, RowVisibility, Store } from "../store/store.ts";
import { EMERGENCY_RESOURCES, type Emergency, type EmergencyKind, listEmergencies } from "./emergencies.ts";

/** Reach of an emergency, or of one place. */
export interface ReachCounts {
  speakers: number;
  phones: number;
  /** Desktop notifiers and other devices. */
  others: number;
}

export interface LocationReach extends ReachCounts {
  buildingId: string;
  /** Site and building. */
  name: string;
}

/**
 * `unreachable`: reaches no device and no person. `reduced`: it reaches fewer than usual, or none in a building. `untested`:
 * neither sent nor drilled for a long time.
 */
export const READINESS_STATES = ["ready", "untested", "reduced", "unreachable"] as const;

export type ReadinessState = (typeof READINESS_STATES)[number];

/** Whom an emergency would reach if it were started now. */
export interface EmergencyReadiness extends ReachCounts {
  kind: EmergencyKind;
  /** Resource and id of its row. */
  resource: string;
  id: string;
  name: string;
  state: ReadinessState;
  /** Plain sentences, the worst first. */
  problems: Sentence[];
  people: number;
  /** Devices that did not answer the last message or are not registered. */
  doubtful: number;
  /** Devices that would not be asked. */
  excluded: number;
  /** Highest number of devices and people within the last seven days. */
  usual: number;
  byLocation: LocationReach[];
  /** Epoch ms of the last message of it, live or drill; null without one. */
  testedAt: number | null;
  assessedAt: number;
}

export interface EmergencyReadinessDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  by: ActorContext;
  notificationService: Pick<NotificationService, "assessReach">;
  settings: Settings["readiness"];
}

/** Keeps the readiness of all emergencies. @source docs/decisions/0430-emergency-readiness.md */
export interface EmergencyReadinessMonitor {
  start(): void;
  stop(): void;
  /** As of the last assessment, the worst first; without rows that `visibility` hides. */
  list(visibility: RowVisibility): EmergencyReadiness[];
  healthReasons(): HealthReason[];
}

const STATE_NAME = "emergency-reach";
/** Days of which the best reach is the usual one. */
const USUAL_DAYS = 7;
/** Changes within this time are assessed together. */
const COALESCE_MS = 2_000;
/** Pause as a multiple of the last assessment's duration: at most a twentieth of the processor, however many devices. */
const PAUSE_FACTOR = 20;
/** Devices that stop answering change no row at once. */
const FULL_SWEEP_MS = 5 * 60_000;
/** Resources whose changes leave every reach as it is. */
const IRRELEVANT: ReadonlySet<string> = new Set([
  "deliveries",
  "notifications",
  "notification-activities",
  "user-tokens",
]);

/** Health reasons, of the worst; all are in the list. */
const MAX_REASONS = 50;

const RANK: Readonly<Record<ReadinessState, number>> = { unreachable: 0, reduced: 1, untested: 2, ready: 3 };

/** Best reach by day (days since 1970), by id of the emergency. */
type ReachHistory = Record<string, Record<string, number>>;

/** Creates the monitor; nothing is assessed before `start`. */
export function createEmergencyReadiness(deps: EmergencyReadinessDeps): EmergencyReadinessMonitor {
  const { store, clock, events, log } = deps;
  let current: EmergencyReadiness[] = [];
  let running: Promise<void> | null = null;
  let pending: Timer | null = null;
  let sweep: Timer | null = null;
  let unsubscribe: (() => void)[] = [];
  let isStopped = false;
  let tookMs = 0;

  async function assessAll(): Promise<void> {
    const history = readOperationState<ReachHistory>(store, STATE_NAME) ?? {};
    const next: EmergencyReadiness[] = [];
    const kept: ReachHistory = {};
    for (const emergency of listEmergencies(store)) {
      if (isStopped) return;
      const assessed = await assessEmergency(emergency, history[emergency.id] ?? {}, deps);
      kept[emergency.id] = assessed.history;
      next.push(assessed.readiness);
      await yieldToEventLoop(clock);
    }
    current = next.sort((one, other) => RANK[one.state] - RANK[other.state]);
    if (JSON.stringify(kept) !== JSON.stringify(history))
      await store.write((tx) => writeOperationState(tx, STATE_NAME, kept));
  }

  const run = (): Promise<void> => {
    const startedAt = clock.monotonicMs();
    running ??= assessAll()
      .catch((err: unknown) =>
        log.error({ event: "readiness.assessment_failed", err }, "Readiness could not be assessed."),
      )
      .finally(() => {
        tookMs = clock.monotonicMs() - startedAt;
        running = null;
      });
    return running;
  };
  const runSoon = (): void => {
    pending ??= clock.after(
      Math.max(COALESCE_MS, PAUSE_FACTOR * tookMs),
      () => {
        pending = null;
        void (running ?? Promise.resolve()).then(run);
      },
      { background: true },
    );
  };

  return {
    start() {
      unsubscribe = [
        events.on("row.changed", ({ resource }) => void (IRRELEVANT.has(resource) || runSoon())),
        events.on("notification.settled", runSoon),
        events.on("plugin.changed", runSoon),
      ];
      sweep = clock.every(FULL_SWEEP_MS, runSoon);
      runSoon();
    },
    stop() {
      isStopped = true;
      for (const end of unsubscribe) end();
      pending?.cancel();
      sweep?.cancel();
    },
    list: (visibility) =>
      current.filter(({ resource, id }) => {
        const found = EMERGENCY_RESOURCES.get(resource);
        return found !== undefined && store.get(found, id, visibility) !== null;
      }),
    healthReasons: () => current.slice(0, MAX_REASONS).flatMap(reasonOf),
  };
}

const KIND_CODES = {
  template: "readiness.kind-template",
  scenario: "readiness.kind-scenario",
  "incident-plan": "readiness.kind-incident-plan",
  "alarm-action": "readiness.kind-alarm-action",
  input: "readiness.kind-input",
} as const satisfies Readonly<Record<EmergencyKind, SentenceCode>>;

function reasonOf({ kind, id, name, state, problems }: EmergencyReadiness): HealthReason[] {
  if (state === "ready") return [];
  const level = state === "unreachable" ? "red" : "yellow";
  return [
    {
      level,
      code: `emergency-${state}:${id}`,
      reason: sentence("readiness.emergency", {
        name,
        kind: sentence(KIND_CODES[kind]),
        problems: problems.join(" "),
      }),
    },
  ];
}

async function assessEmergency(
  emergency: Emergency,
  history: Readonly<Record<string, number>>,
  { store, clock, by, notificationService, settings }: EmergencyReadinessDeps,
): Promise<{ readiness: EmergencyReadiness; history: Record<string, number> }> {
  const assess = (messages: Emergency["messages"]) => assessMessages(messages, by, notificationService);
  const { devices, people, doubtful, excluded, problems } = await assess(emergency.messages);
  for (const { name, messages } of emergency.bySite) {
    const there = await assess(messages);
    if (there.devices.size + there.people.size === 0)
      problems.push(sentence("readiness.site-unreached", { site: name }));
  }
  const now = clock.now();
  const total = devices.size + people.size;
  const today = Math.floor(now / DAY_MS);
  const days = Object.entries(history).filter(([day]) => Number(day) > today - USUAL_DAYS);
  const usual = Math.max(total, ...days.map(([, best]) => best));
  const kept = Object.fromEntries([...days, [String(today), Math.max(total, history[today] ?? 0)]]);
  const places = reachByLocation([...devices.keys()], devices, store);
  const counts = countTypes(devices.values());
  const testedAt = lastTest(emergency, store);
  const state = judge({ total, usual, places, emergency, testedAt, now, doubtful, excluded }, settings, problems);
  return {
    history: kept,
    readiness: {
      ...{ kind: emergency.kind, resource: emergency.resource.name, id: emergency.id, name: emergency.name },
      ...{ state, problems, ...counts, people: people.size, doubtful, excluded, usual },
      ...{ byLocation: places.filter((place) => place.speakers + place.phones + place.others > 0) },
      ...{ testedAt, assessedAt: now },
    },
  };
}

/** Whom all messages together reach. */
async function assessMessages(
  messages: Emergency["messages"],
  by: ActorContext,
  notificationService: EmergencyReadinessDeps["notificationService"],
) {
  const devices = new Map<string, string>();
  const people = new Set<number>();
  const problems: Sentence[] = [];
  let [doubtful, excluded] = [0, 0];
  for (const message of messages) {
    try {
      const reach = await notificationService.assessReach(message, by);
      for (const { id, type } of reach.devices) devices.set(id, type);
      for (const pk of reach.people) people.add(pk);
      doubtful += reach.doubtful;
      excluded += reach.unreachable;
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
      problems.push(asGiven(error.message));
    }
  }
  return { devices, people, doubtful, excluded, problems };
}

interface Judged {
  total: number;
  usual: number;
  places: readonly LocationReach[];
  emergency: Emergency;
  testedAt: number | null;
  now: number;
  doubtful: number;
  excluded: number;
}

/** The state; adds sentences to `problems`. */
function judge(judged: Judged, settings: Settings["readiness"], problems: Sentence[]): ReadinessState {
  const { total, usual, places, emergency, testedAt, now, doubtful, excluded } = judged;
  if (total === 0) {
    if (excluded > 0) problems.unshift(sentence("readiness.devices-excluded", { devices: excluded }));
    if (doubtful > 0) problems.unshift(sentence("readiness.devices-silent", { devices: doubtful }));
    problems.unshift(sentence("readiness.unreached"));
    return "unreachable";
  }
  let state: ReadinessState = problems.length > 0 ? "reduced" : "ready";
  const lostPercent = Math.round((100 * (usual - total)) / usual);
  if (lostPercent >= settings.reducedByPercent) {
    problems.push(sentence("readiness.reduced", { count: total, usual }));
    state = "reduced";
  }
  const reachesDevices = places.some((place) => place.speakers + place.phones + place.others > 0);
  const without = reachesDevices ? places.filter((place) => place.speakers + place.phones + place.others === 0) : [];
  if (without.length > 0) {
    const named = without.slice(0, 3).map(({ name }) => name);
    const [places, more] = [named.join(", "), without.length - named.length];
    problems.push(
      more > 0
        ? sentence("readiness.places-unreached-many", { places, more })
        : sentence("readiness.places-unreached", { places }),
    );
    state = "reduced";
  }
  const since = testedAt ?? emergency.createdAt;
  if (now - since > settings.testedWithinDays * DAY_MS) {
    const days = Math.floor((now - since) / DAY_MS);
    problems.push(
      testedAt === null ? sentence("readiness.never-tested") : sentence("readiness.tested-long-ago", { days }),
    );
    if (state === "ready") state = "untested";
  }
  return state;
}

function countTypes(types: Iterable<string>): ReachCounts {
  const counts = { speakers: 0, phones: 0, others: 0 };
  for (const type of types) counts[type === "speakers" || type === "phones" ? type : "others"]++;
  return counts;
}

const BUILDINGS_SQL = `SELECT b.id AS buildingId, s.name || ' › ' || b.name AS name FROM buildings b
  JOIN sites s ON s.pk = b.site_pk WHERE EXISTS (SELECT 1 FROM zones z WHERE z.building_pk = b.pk) ORDER BY s.name, b.name`;
const PLACES_SQL = `SELECT b.id AS buildingId, d.id FROM devices d JOIN zones z ON z.pk = d.zone_pk
  JOIN buildings b ON b.pk = z.building_pk WHERE d.id IN (SELECT value FROM json_each(?))`;
const PLACES_AT_ONCE = 500;

/** Every building with rooms, also those without a reached device. */
function reachByLocation(ids: readonly string[], types: ReadonlyMap<string, string>, store: Store): LocationReach[] {
  const places = new Map(
    store
      .all<{ buildingId: string; name: string }>(BUILDINGS_SQL)
      .map((place) => [place.buildingId, { ...place, speakers: 0, phones: 0, others: 0 }]),
  );
  for (let at = 0; at < ids.length; at += PLACES_AT_ONCE) {
    const some = JSON.stringify(ids.slice(at, at + PLACES_AT_ONCE));
    for (const { buildingId, id } of store.all<{ buildingId: string; id: string }>(PLACES_SQL, some)) {
      const place = places.get(buildingId);
      const type = types.get(id);
      if (place) place[type === "speakers" || type === "phones" ? type : "others"]++;
    }
  }
  return [...places.values()];
}

const TESTED_SQL = `SELECT max(created_at) AS at FROM notifications
  WHERE message_template_pk IN (SELECT value FROM json_each(?)) AND draft IS NOT 1`;

function lastTest({ templatePks }: Emergency, store: Store): number | null {
  return store.one<{ at: number | null }>(TESTED_SQL, JSON.stringify(templatePks))?.at ?? null;
}
