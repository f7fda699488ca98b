import { createHash } from "node:crypto";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { NotificationService, SimulatedDelivery } from "../notifications/notification-service.ts";
import type { HealthSource } from "../ops/health/health.ts";
import type { OfflineRing, PlannedRing, RingPlan } from "../plugin-api/index.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { createOfflineRings } from "./offline-rings.ts";
import { createPlanSource } from "./plan-source.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import { ringNotificationOf } from "./ring-executor.ts";
import type { Occurrence, OwnerKind } from "./ring-repository.ts";
import { DAY_MS } from "./time-zones.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Rings to come as devices hear them, for those that can play them alone. */
export interface RingPlans {
  /** Null for what is no device of the plugin. */
  planFor(provider: string, deviceIdentifier: string): Promise<RingPlan | null>;
  /** At most 256 KiB of a sound of the plugin's plans, G.711 µ-law, from a byte on; null when none names it. */
  readSound(provider: string, sha256: string, from: number): Promise<Uint8Array | null>;
  /** Enters what a device has played without the appliance, once however often it is told. Throws CallerError. */
  recordOfflineRings(provider: string, deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
  /** Devices whose plans are not kept up; takes the place of what the plugin said before. */
  setOutdatedDevices(provider: string, deviceIdentifiers: readonly string[]): void;
  /** Tells of them. */
  readonly healthSource: HealthSource;
  stop(): void;
}

/** What making plans needs. */
export interface RingPlanDeps {
  store: Store;
  clock: Clock;
  log: Log;
  times: LocalTimeContext;
  notificationService: Pick<NotificationService, "simulate" | "handleOutcomes">;
  by: ActorContext;
}

/** Fourteen from any moment of the first one. */
const HORIZON_DAYS = 15;
/** A plan serves for so long, and for so many times as long as its making took. own choice */
const CACHE_TTL_MS = 60_000;
const CACHE_TTL_FACTOR = 50;
/** own choice: what a plan may hold; beyond, it covers fewer days. */
const MAX_RINGS = 200_000;
const MAX_RINGS_PER_DEVICE = 5_000;
const MAX_SOUND_BYTES = 64 * 1_048_576;
const TIME_SLICE_MS = 4;
const SOUND_CHUNK_BYTES = 262_144;
const MAX_NAMED = 10;

/** What rings of one entry sound like, and where. */
interface PlannedContent extends Omit<PlannedRing, "ringId" | "at" | "notAfter"> {
  /** Among those of one priority. */
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

/** Makes plans when they are asked for, by the very code that rings; they stay the same for a day unless something is written. */
export function createRingPlans(needs: RingPlanDeps): RingPlans {
  const { store, clock } = needs;
  const offlineRings = createOfflineRings(needs);
  const outdatedDevices = new Map<string, readonly string[]>();
  const cachedPlans = new Map<string, { madeAt: number; freshMs: number; made: Promise<BuiltPlan> }>();

  const planOfProvider = (provider: string): Promise<BuiltPlan> => {
    const began = clock.monotonicMs();
    const known = cachedPlans.get(provider);
    if (known && began - known.madeAt < known.freshMs) return known.made;
    const next = { madeAt: began, freshMs: Number.POSITIVE_INFINITY, made: buildPlan(provider, needs) };
    cachedPlans.set(provider, next);
    next.made.then(
      () => {
        next.freshMs = Math.max(CACHE_TTL_MS, (clock.monotonicMs() - began) * CACHE_TTL_FACTOR);
      },
      () => cachedPlans.delete(provider),
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
      const heard = contents.filter(({ deviceIds }) => deviceIds.has(device.id));
      const { rings, end } = await audibleRings(heard, clock);
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
      const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
      const reason = `Speakers could not ring for long without the appliance, since their plans are not kept up: ${names.slice(0, MAX_NAMED).join(", ")}${more}.`;
      return [{ level: "yellow", code: "ring-plans", reason }];
    },
    stop: offlineRings.stop,
  };
}

async function buildPlan(provider: string, needs: RingPlanDeps): Promise<BuiltPlan> {
  const { store, clock, times } = needs;
  const source = createPlanSource(times);
  const from = Math.floor(clock.now() / DAY_MS) * DAY_MS;
  const contents = new Map<string, PlannedContent | null>();
  const sounds = new Map<string, Uint8Array>();
  const seen = new Map<string, SimulatedDelivery | null>();
  let [until, count, began] = [from, 0, clock.monotonicMs()];
  const owners = source.owners(store).filter(({ kind }) => kind !== "clearing");
  for (; until < from + HORIZON_DAYS * DAY_MS && count < MAX_RINGS; until += DAY_MS) {
    for (const { id: owner, kind } of owners) {
      for (const ring of source.occurrences(store, kind, owner, until, until + DAY_MS)) {
        const key = [owner, ring.ringListId, ring.entryId].join(" ");
        let content = contents.get(key);
        if (content === undefined) {
          content = await buildContent({ ...ring, owner, kind }, provider, { sounds, seen }, needs);
          contents.set(key, content);
        }
        content?.rings.push({ ringId: ring.id, at: ring.at });
        count += content ? 1 : 0;
      }
      if (clock.monotonicMs() - began < TIME_SLICE_MS) continue;
      await yieldToEventLoop(clock);
      began = clock.monotonicMs();
    }
  }
  return { until, sounds, contents: [...contents.values()].filter((each) => each !== null) };
}

/** Null for what would not be heard on any of the plugin's devices. */
async function buildContent(
  ring: Occurrence & { owner: string; kind: OwnerKind },
  provider: string,
  { sounds, seen }: { sounds: Map<string, Uint8Array>; seen: Map<string, SimulatedDelivery | null> },
  needs: RingPlanDeps,
): Promise<PlannedContent | null> {
  const { store, by, log } = needs;
  const sending = ringNotificationOf(ring, store, by);
  if (!sending) return null;
  // Many schedules ring alike: what is equal is looked at once.
  const { input, sender, options } = sending;
  const alike = JSON.stringify([input, sender.scope.domainId, options.source]);
  let foreseen = seen.get(alike);
  if (foreseen === undefined) {
    foreseen = await previewDelivery(sending, ring.at, provider, needs);
    seen.set(alike, foreseen);
  }
  if (!foreseen) return null;
  const { sound, deviceIds, priority, rank, volume, notAfter } = foreseen;
  if (!sound || deviceIds.length === 0) return null;
  const sha256 = createHash("sha256").update(sound).digest("hex");
  const bytes = [...sounds.values()].reduce((sum, { length }) => sum + length, 0);
  if (!sounds.has(sha256) && bytes + sound.length > MAX_SOUND_BYTES) {
    log.warn({ scheduleId: ring.owner }, "too much sound: this is not played by devices alone");
    return null;
  }
  sounds.set(sha256, sound);
  const usefulMs = Math.min(LATE_LIMIT_MS, notAfter);
  const content = { priority, rank, volume, usefulMs, sound: { sha256, bytes: sound.length } };
  return { ...content, deviceIds: new Set(deviceIds), rings: [] };
}

/** What is sent on the devices, `notAfter` counted from the ring's moment; null for what would be skipped. */
async function previewDelivery(
  { input, sender, options }: NonNullable<ReturnType<typeof ringNotificationOf>>,
  at: number,
  provider: string,
  { notificationService }: RingPlanDeps,
): Promise<SimulatedDelivery | null> {
  try {
    const foreseen = await notificationService.simulate(input, sender, options, provider);
    return { ...foreseen, notAfter: foreseen.notAfter - at };
  } catch (error) {
    if (error instanceof CallerError || error instanceof ConflictError) return null;
    throw error;
  }
}

/** One of the rings of a content. */
interface AudibleRing {
  content: PlannedContent;
  ringId: string;
}

/**
 * What is heard first, in order of time, of two at one instant the one that would sound; `end` is the instant of what is
 * beyond that, null when nothing is. @source bells.md, Running
 */
async function audibleRings(
  contents: readonly PlannedContent[],
  clock: Clock,
): Promise<{ rings: PlannedRing[]; end: number | null }> {
  const heard = new Map<number, AudibleRing>();
  let began = clock.monotonicMs();
  for (const content of contents) {
    for (const { ringId, at } of content.rings) {
      const other = heard.get(at);
      if (!other || takesPrecedence({ content, ringId }, other)) heard.set(at, { content, ringId });
    }
    if (clock.monotonicMs() - began < TIME_SLICE_MS) continue;
    await yieldToEventLoop(clock);
    began = clock.monotonicMs();
  }
  const times = Float64Array.from(heard.keys()).sort();
  const rings = Array.from(times.subarray(0, MAX_RINGS_PER_DEVICE), (at): PlannedRing => {
    const { content, ringId } = heard.get(at) as AudibleRing;
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
