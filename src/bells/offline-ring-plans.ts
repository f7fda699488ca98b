import { createHash } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { NotificationService, SimulatedDelivery } from "../notifications/notification-service.ts";
import type { HealthSource } from "../ops/health/health.ts";
import type { OfflineRing, PlannedRing, RingPlan } from "../plugin-api/index.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { createOfflineRings } from "./offline-rings.ts";
import { createPlanSource } from "./plan-source.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import { ringNotificationOf } from "./ring-executor.ts";
import type { Occurrence, OwnerKind } from "./ring-repository.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Plans of upcoming rings for devices that can ring offline. */
export interface RingPlans {
  /** Null if the plugin has no such device. */
  planFor(provider: string, deviceIdentifier: string): Promise<RingPlan | null>;
  /** At most 256 KiB of a sound of the plugin's plans (G.711 µ-law) from an offset; null if no plan uses it. */
  readSound(provider: string, sha256: string, from: number): Promise<Uint8Array | null>;
  /** Records rings that a device played offline. Idempotent. Throws CallerError. */
  recordOfflineRings(provider: string, deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
  /** Devices whose plans are outdated; replaces the plugin's previous list. */
  setOutdatedDevices(provider: string, deviceIdentifiers: readonly string[]): void;
  /** Builds the plans again at the next request: inputs besides the rows have changed. */
  invalidate(): void;
  /** Reports devices with outdated plans. */
  readonly healthSource: HealthSource;
  stop(): void;
}

export interface RingPlanDeps {
  store: Store;
  clock: Clock;
  log: Log;
  times: LocalTimeContext;
  notificationService: Pick<NotificationService, "simulate" | "handleOutcomes">;
  by: ActorContext;
}

/** Covers at least fourteen full days from any moment of the first day. */
const HORIZON_DAYS = 15;
/** A plan is cached for this long, and at least for this multiple of its build time. @source docs/decisions/0200-bell-engine-limits.md, Offline rings */
const CACHE_TTL_MS = 60_000;
const CACHE_TTL_FACTOR = 50;
/** Size limits of a plan; a plan that reaches them covers fewer days. @source docs/decisions/0200-bell-engine-limits.md, Offline rings */
const MAX_RINGS = 200_000;
const MAX_RINGS_PER_DEVICE = 5_000;
const MAX_SOUND_BYTES = 64 * 1_048_576;
const SOUND_CHUNK_BYTES = 262_144;
const MAX_NAMED = 10;

/** Sound, priority and devices of the rings of one entry. */
interface PlannedContent extends Omit<PlannedRing, "ringId" | "at" | "notAfter"> {
  /** Among contents of the same priority. */
  rank: number;
  usefulMs: number;
  deviceIds: ReadonlySet<string>;
  rings: OfflineRing[];
}

interface BuiltPlan {
  until: number;
  contents: PlannedContent[];
  sounds: ReadonlyMap<string, Uint8Array>;
}

/** Builds plans on request with the code that rings; without writes a plan does not change for a day. */
export function createRingPlans(deps: RingPlanDeps): RingPlans {
  const { store, clock } = deps;
  const offlineRings = createOfflineRings(deps);
  const outdatedDevices = new Map<string, readonly string[]>();
  const cachedPlans = new Map<string, { madeAt: number; freshMs: number; made: Promise<BuiltPlan> }>();

  const planOfProvider = (provider: string): Promise<BuiltPlan> => {
    const began = clock.monotonicMs();
    const cached = cachedPlans.get(provider);
    if (cached && began - cached.madeAt < cached.freshMs) return cached.made;
    const next = { madeAt: began, freshMs: Number.POSITIVE_INFINITY, made: buildPlan(provider, deps) };
    cachedPlans.set(provider, next);
    next.made.then(
      () => {
        next.freshMs = Math.max(CACHE_TTL_MS, (clock.monotonicMs() - began) * CACHE_TTL_FACTOR);
      },
      () => void (cachedPlans.get(provider) === next && cachedPlans.delete(provider)),
    );
    return next.made;
  };

  return {
    async planFor(provider, deviceIdentifier) {
      const { until, contents } = await planOfProvider(provider);
      const device = store.one<{ id: string; attributes: string }>(
        "SELECT id, attributes FROM devices WHERE device_identifier = ? AND provider = ?",
        deviceIdentifier,
        provider,
      );
      if (!device) return null;
      const audible = contents.filter(({ deviceIds }) => deviceIds.has(device.id));
      const { rings, end } = await audibleRings(audible, clock);
      const attributes = JSON.parse(device.attributes) as RingPlan["attributes"];
      return { attributes, until: end ?? until, rings };
    },
    readSound: async (provider, sha256, from) =>
      (await planOfProvider(provider)).sounds.get(sha256)?.slice(from, from + SOUND_CHUNK_BYTES) ?? null,
    recordOfflineRings: offlineRings.record,
    setOutdatedDevices: (provider, deviceIdentifiers) => void outdatedDevices.set(provider, deviceIdentifiers),
    healthSource() {
      const names = [...outdatedDevices.values()].flat();
      if (names.length === 0) return [];
      const named = names.slice(0, MAX_NAMED).join(", ");
      const more = names.length - MAX_NAMED;
      const reason =
        more > 0
          ? sentence("health.ring-plans-many", { names: named, more })
          : sentence("health.ring-plans", { names: named });
      return [{ level: "yellow", code: "ring-plans", reason }];
    },
    invalidate: () => cachedPlans.clear(),
    stop: offlineRings.stop,
  };
}

async function buildPlan(provider: string, deps: RingPlanDeps): Promise<BuiltPlan> {
  const { store, clock, times } = deps;
  const source = createPlanSource(times);
  const from = Math.floor(clock.now() / DAY_MS) * DAY_MS;
  const contents = new Map<string, PlannedContent | null>();
  const sounds = new Map<string, Uint8Array>();
  const previews = new Map<string, SimulatedDelivery | null>();
  let [until, count] = [from, 0];
  const slice = createTimeSlice(clock);
  const owners = source.owners(store).filter(({ kind }) => kind !== "clearing");
  for (; until < from + HORIZON_DAYS * DAY_MS && count < MAX_RINGS; until += DAY_MS) {
    for (const { id: owner, kind } of owners) {
      for (const ring of source.occurrences(store, kind, owner, until, until + DAY_MS)) {
        const key = [owner, ring.ringListId, ring.entryId].join(" ");
        let content = contents.get(key);
        if (content === undefined) {
          content = await buildContent({ ...ring, owner, kind }, provider, { sounds, previews }, deps);
          contents.set(key, content);
        }
        content?.rings.push({ ringId: ring.id, at: ring.at });
        count += content ? 1 : 0;
      }
      if (slice.isOver()) await slice.next();
    }
  }
  return { until, sounds, contents: [...contents.values()].filter((each) => each !== null) };
}

/** Null if no device of the plugin would play it. */
async function buildContent(
  ring: Occurrence & { owner: string; kind: OwnerKind },
  provider: string,
  { sounds, previews }: { sounds: Map<string, Uint8Array>; previews: Map<string, SimulatedDelivery | null> },
  deps: RingPlanDeps,
): Promise<PlannedContent | null> {
  const { store, by, log } = deps;
  const sending = ringNotificationOf(ring, store, by);
  if (!sending) return null;
  // Many schedules send the same content: preview it once.
  const { input, sender, options } = sending;
  const previewKey = JSON.stringify([input, sender.scope.domainId, options.source]);
  let preview = previews.get(previewKey);
  if (preview === undefined) {
    preview = await previewDelivery(sending, ring.at, provider, deps);
    previews.set(previewKey, preview);
  }
  if (!preview) return null;
  const { sound, deviceIds, priority, rank, volume, notAfter } = preview;
  if (!sound || deviceIds.length === 0) return null;
  const sha256 = createHash("sha256").update(sound).digest("hex");
  const bytes = [...sounds.values()].reduce((sum, { length }) => sum + length, 0);
  if (!sounds.has(sha256) && bytes + sound.length > MAX_SOUND_BYTES) {
    log.warn(
      { event: "bell.offline_plan_limit_exceeded", scheduleId: ring.owner },
      "offline ring plan exceeds the sound limit; schedule left out",
    );
    return null;
  }
  sounds.set(sha256, sound);
  const usefulMs = Math.min(LATE_LIMIT_MS, notAfter);
  const content = { priority, rank, volume, usefulMs, sound: { sha256, bytes: sound.length } };
  return { ...content, deviceIds: new Set(deviceIds), rings: [] };
}

/** What the devices would receive, with `notAfter` relative to the instant of the ring; null if the ring would be skipped. */
async function previewDelivery(
  { input, sender, options }: NonNullable<ReturnType<typeof ringNotificationOf>>,
  at: number,
  provider: string,
  { notificationService }: RingPlanDeps,
): Promise<SimulatedDelivery | null> {
  try {
    const preview = await notificationService.simulate(input, sender, options, provider);
    return { ...preview, notAfter: preview.notAfter - at };
  } catch (error) {
    if (error instanceof CallerError || error instanceof ConflictError) return null;
    throw error;
  }
}

interface AudibleRing {
  content: PlannedContent;
  ringId: string;
}

/**
 * Rings sorted by time; of several at one instant only the one that takes precedence. `end` is the instant of the first ring
 * beyond the limit, null if there is none. @source docs/decisions/0015-bell-engine.md, Running
 */
async function audibleRings(
  contents: readonly PlannedContent[],
  clock: Clock,
): Promise<{ rings: PlannedRing[]; end: number | null }> {
  const audible = new Map<number, AudibleRing>();
  const slice = createTimeSlice(clock);
  for (const content of contents) {
    for (const { ringId, at } of content.rings) {
      const other = audible.get(at);
      if (!other || takesPrecedence({ content, ringId }, other)) audible.set(at, { content, ringId });
    }
    if (slice.isOver()) await slice.next();
  }
  const times = Float64Array.from(audible.keys()).sort();
  const rings = Array.from(times.subarray(0, MAX_RINGS_PER_DEVICE), (at): PlannedRing => {
    const { content, ringId } = audible.get(at) as AudibleRing;
    const { priority, volume, usefulMs, sound } = content;
    return { ringId, at, notAfter: at + usefulMs, priority, volume, sound };
  });
  return { rings, end: times[MAX_RINGS_PER_DEVICE] ?? null };
}

function takesPrecedence(one: AudibleRing, other: AudibleRing): boolean {
  const [{ content }, { content: than }] = [one, other];
  const difference = content.priority - than.priority || content.rank - than.rank;
  return difference < 0 || (difference === 0 && one.ringId < other.ringId);
}
