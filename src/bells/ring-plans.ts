import { createHash } from "node:crypto";
import { type Clock, nextTurn } from "../base/clock.ts";
import { CallerError, ConflictError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster, Foresight } from "../broadcast/broadcaster.ts";
import type { HealthSource } from "../health/health.ts";
import type { LoneRing, PlannedRing, RingPlan } from "../plugin-api/index.ts";
import type { By, Store } from "../store/store.ts";
import { createLoneRings } from "./lone-rings.ts";
import { createPlanSource } from "./plan-source.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import type { Occurrence, OwnerKind } from "./ring-book.ts";
import { sendingOf } from "./ring-port.ts";
import type { BellTimes } from "./timetables.ts";
import { DAY_MS } from "./zones.ts";

/** Rings to come as devices hear them, for those that can play them alone. */
export interface RingPlans {
  /** Null for what is no device of the plugin. */
  planned(provider: string, deviceIdentifier: string): Promise<RingPlan | null>;
  /** At most 256 KiB of a sound of the plugin's plans, G.711 µ-law, from a byte on; null when none names it. */
  sound(provider: string, sha256: string, from: number): Promise<Uint8Array | null>;
  /** Enters what a device has played without the appliance, once however often it is told. Throws CallerError. */
  playedAlone(provider: string, deviceIdentifier: string, rings: readonly LoneRing[]): Promise<void>;
  /** Devices whose plans are not kept up; takes the place of what the plugin said before. */
  behind(provider: string, deviceIdentifiers: readonly string[]): void;
  /** Tells of them. */
  readonly source: HealthSource;
  stop(): void;
}

/** What making plans needs. */
export interface RingPlanNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  times: BellTimes;
  broadcaster: Pick<Broadcaster, "foresee" | "takeOutcomes">;
  by: By;
}

/** Fourteen from any moment of the first one. */
const DAYS = 15;
/** A plan serves for so long, and for so many times as long as its making took. own choice */
const FRESH_MS = 60_000;
const FRESH_TIMES = 50;
/** own choice: what a plan may hold; beyond, it covers fewer days. */
const MOST_RINGS = 200_000;
const MOST_OF_DEVICE = 5_000;
const MOST_SOUND_BYTES = 64 * 1_048_576;
const SLICE_MS = 4;
const PIECE_BYTES = 262_144;
const MOST_NAMED = 10;

/** What rings of one entry sound like, and where. */
interface Content extends Omit<PlannedRing, "ringId" | "at" | "notAfter"> {
  /** Among those of one priority. */
  rank: number;
  usefulMs: number;
  deviceIds: ReadonlySet<string>;
  rings: LoneRing[];
}

interface Made {
  until: number;
  contents: Content[];
  sounds: ReadonlyMap<string, Uint8Array>;
}

/** Makes plans when they are asked for, by the very code that rings; they stay the same for a day unless something is written. */
export function createRingPlans(needs: RingPlanNeeds): RingPlans {
  const { store, clock } = needs;
  const lone = createLoneRings(needs);
  const late = new Map<string, readonly string[]>();
  const kept = new Map<string, { madeAt: number; freshMs: number; made: Promise<Made> }>();

  const madeFor = (provider: string): Promise<Made> => {
    const began = clock.monotonicMs();
    const known = kept.get(provider);
    if (known && began - known.madeAt < known.freshMs) return known.made;
    const next = { madeAt: began, freshMs: Number.POSITIVE_INFINITY, made: makePlan(provider, needs) };
    kept.set(provider, next);
    next.made.then(
      () => {
        next.freshMs = Math.max(FRESH_MS, (clock.monotonicMs() - began) * FRESH_TIMES);
      },
      () => kept.delete(provider),
    );
    return next.made;
  };

  return {
    async planned(provider, deviceIdentifier) {
      const { until, contents } = await madeFor(provider);
      const device = store.one<{ id: string; attributes: string }>(
        "SELECT id, attributes FROM devices WHERE device_identifier = ? AND provider = ?",
        deviceIdentifier,
        provider,
      );
      if (!device) return null;
      const heard = contents.filter(({ deviceIds }) => deviceIds.has(device.id));
      const { rings, end } = await firstOf(heard, clock);
      const attributes = JSON.parse(device.attributes) as RingPlan["attributes"];
      return { attributes, until: end ?? until, rings };
    },
    sound: async (provider, sha256, from) =>
      (await madeFor(provider)).sounds.get(sha256)?.slice(from, from + PIECE_BYTES) ?? null,
    playedAlone: lone.enter,
    behind: (provider, deviceIdentifiers) => void late.set(provider, deviceIdentifiers),
    source() {
      const names = [...late.values()].flat();
      if (names.length === 0) return [];
      const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
      const reason = `Speakers could not ring for long without the appliance, since their plans are not kept up: ${names.slice(0, MOST_NAMED).join(", ")}${more}.`;
      return [{ level: "yellow", code: "ring-plans", reason }];
    },
    stop: lone.stop,
  };
}

async function makePlan(provider: string, needs: RingPlanNeeds): Promise<Made> {
  const { store, clock, times } = needs;
  const source = createPlanSource(times);
  const from = Math.floor(clock.now() / DAY_MS) * DAY_MS;
  const contents = new Map<string, Content | null>();
  const sounds = new Map<string, Uint8Array>();
  const seen = new Map<string, Foresight | null>();
  let [until, count, began] = [from, 0, clock.monotonicMs()];
  const owners = source.owners(store).filter(({ kind }) => kind !== "clearing");
  for (; until < from + DAYS * DAY_MS && count < MOST_RINGS; until += DAY_MS) {
    for (const { id: owner, kind } of owners) {
      for (const ring of source.occurrences(store, kind, owner, until, until + DAY_MS)) {
        const key = [owner, ring.ringListId, ring.entryId].join(" ");
        let content = contents.get(key);
        if (content === undefined) {
          content = await contentOf({ ...ring, owner, kind }, provider, { sounds, seen }, needs);
          contents.set(key, content);
        }
        content?.rings.push({ ringId: ring.id, at: ring.at });
        count += content ? 1 : 0;
      }
      if (clock.monotonicMs() - began < SLICE_MS) continue;
      await nextTurn(clock);
      began = clock.monotonicMs();
    }
  }
  return { until, sounds, contents: [...contents.values()].filter((each) => each !== null) };
}

/** Null for what would not be heard on any of the plugin's devices. */
async function contentOf(
  ring: Occurrence & { owner: string; kind: OwnerKind },
  provider: string,
  { sounds, seen }: { sounds: Map<string, Uint8Array>; seen: Map<string, Foresight | null> },
  needs: RingPlanNeeds,
): Promise<Content | null> {
  const { store, by, log } = needs;
  const sending = sendingOf(ring, store, by);
  if (!sending) return null;
  // Many schedules ring alike: what is equal is looked at once.
  const { input, sender, options } = sending;
  const alike = JSON.stringify([input, sender.scope.domainId, options.source]);
  let foreseen = seen.get(alike);
  if (foreseen === undefined) {
    foreseen = await foreseenOf(sending, ring.at, provider, needs);
    seen.set(alike, foreseen);
  }
  if (!foreseen) return null;
  const { sound, deviceIds, priority, rank, volume, notAfter } = foreseen;
  if (!sound || deviceIds.length === 0) return null;
  const sha256 = createHash("sha256").update(sound).digest("hex");
  const bytes = [...sounds.values()].reduce((sum, { length }) => sum + length, 0);
  if (!sounds.has(sha256) && bytes + sound.length > MOST_SOUND_BYTES) {
    log.warn({ scheduleId: ring.owner }, "too much sound: this is not played by devices alone");
    return null;
  }
  sounds.set(sha256, sound);
  const usefulMs = Math.min(LATE_LIMIT_MS, notAfter);
  const content = { priority, rank, volume, usefulMs, sound: { sha256, bytes: sound.length } };
  return { ...content, deviceIds: new Set(deviceIds), rings: [] };
}

/** What is sent on the devices, `notAfter` counted from the ring's moment; null for what would be skipped. */
async function foreseenOf(
  { input, sender, options }: NonNullable<ReturnType<typeof sendingOf>>,
  at: number,
  provider: string,
  { broadcaster }: RingPlanNeeds,
): Promise<Foresight | null> {
  try {
    const foreseen = await broadcaster.foresee(input, sender, options, provider);
    return { ...foreseen, notAfter: foreseen.notAfter - at };
  } catch (error) {
    if (error instanceof CallerError || error instanceof ConflictError) return null;
    throw error;
  }
}

/** One of the rings of a content. */
interface Heard {
  content: Content;
  ringId: string;
}

/**
 * What is heard first, in order of time, of two at one instant the one that would sound; `end` is the instant of what is
 * beyond that, null when nothing is. @source bells.md, Running
 */
async function firstOf(
  contents: readonly Content[],
  clock: Clock,
): Promise<{ rings: PlannedRing[]; end: number | null }> {
  const heard = new Map<number, Heard>();
  let began = clock.monotonicMs();
  for (const content of contents) {
    for (const { ringId, at } of content.rings) {
      const other = heard.get(at);
      if (!other || isHeardInstead({ content, ringId }, other)) heard.set(at, { content, ringId });
    }
    if (clock.monotonicMs() - began < SLICE_MS) continue;
    await nextTurn(clock);
    began = clock.monotonicMs();
  }
  const times = Float64Array.from(heard.keys()).sort();
  const rings = Array.from(times.subarray(0, MOST_OF_DEVICE), (at): PlannedRing => {
    const { content, ringId } = heard.get(at) as Heard;
    const { priority, volume, usefulMs, sound } = content;
    return { ringId, at, notAfter: at + usefulMs, priority, volume, sound };
  });
  return { rings, end: times[MOST_OF_DEVICE] ?? null };
}

function isHeardInstead(one: Heard, other: Heard): boolean {
  const [{ content }, { content: than }] = [one, other];
  const difference = content.priority - than.priority || content.rank - than.rank;
  return difference < 0 || (difference === 0 && one.ringId < other.ringId);
}
