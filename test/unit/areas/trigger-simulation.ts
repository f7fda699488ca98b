import areasOfInterest from "../../../src/resources/areas/areas-of-interest.ts";
import boundaryTriggerActivities from "../../../src/resources/areas/boundary-trigger-activities.ts";
import type { AreasFixture } from "./areas-fixture.ts";
import { arcM, seeded, travel } from "./geodesy-oracle.ts";

/** What a walk came to: lines `step trigger user reason`, sorted, as the watch wrote them and as they had to be. */
export interface Walked {
  tracks: number;
  reports: number;
  acted: string[];
  expected: string[];
}

interface Circle {
  id: string;
  centre: readonly [number, number];
  radiusM: number;
}

interface Trigger {
  id: string;
  area: string;
  action: "entered" | "exited" | "both";
  throttleMs: number;
  /** Indexes of walkers that it means; null for everybody. */
  walkers: ReadonlySet<number> | null;
}

const WALKERS = 25;
const STEPS = 8;
const STEP_MS = 45_000;
/** Around the antimeridian, a pole, and nowhere special. */
const STARTS = [
  [179.99, -17],
  [-179.99, 66.5],
  [30, 89.98],
  [-75, -89.99],
  [13.4, 52.5],
] as const;

/**
 * Lets 25 people walk `tracks` random tracks of eight reports through areas with triggers of every kind, and says beside
 * it by vectors and a list of firings what has to follow: who crossed, which triggers mean that, and which rest for now.
 */
export async function walkTriggers(scene: AreasFixture, tracks: number, seed: number): Promise<Walked> {
  const random = seeded(seed);
  const circles = await drawCircles(scene, random);
  const walkers: { user: string; device: string }[] = [];
  for (let n = 0; n < WALKERS; n++) {
    const user = await scene.user(`Walker ${n}`);
    walkers.push({ user, device: await scene.device(user) });
  }
  const triggers = await setTriggers(
    scene,
    circles,
    walkers.map(({ user }) => user),
  );
  const began = scene.clock.now();
  const inside = new Set<string>();
  const lastFired = new Map<string, number>();
  const expected: string[] = [];
  let reports = 0;

  const foresee = (walker: number, at: readonly [number, number], accuracyM: number): void => {
    for (const { id, centre, radiusM } of circles) {
      const [key, distance] = [`${walker} ${id}`, arcM(centre, at)];
      const was = inside.has(key);
      const is = distance + accuracyM <= radiusM || (was && distance - accuracyM <= radiusM);
      if (is === was) continue;
      if (is) inside.add(key);
      else inside.delete(key);
      fires(walker, id, is ? "entered" : "exited");
    }
  };
  const fires = (walker: number, area: string, reason: "entered" | "exited"): void => {
    const now = scene.clock.now();
    for (const trigger of triggers) {
      if (trigger.area !== area || ![reason, "both"].includes(trigger.action)) continue;
      if (trigger.walkers && !trigger.walkers.has(walker)) continue;
      const last = lastFired.get(`${trigger.id} ${walker}`);
      if (last !== undefined && now - last < trigger.throttleMs) continue;
      lastFired.set(`${trigger.id} ${walker}`, now);
      expected.push([(now - began) / STEP_MS, trigger.id, walkers[walker]?.user, reason].join(" "));
    }
  };

  for (let track = 0; track < tracks; track += WALKERS) {
    const going = walkers.slice(0, tracks - track);
    const places = going.map((_, n) => travel(STARTS[n % STARTS.length] as [number, number], random() * 360, 4_000));
    for (let step = 0; step < STEPS; step++) {
      await scene.clock.advance(STEP_MS);
      const sent = going.map(({ user, device }, n) => {
        const at = travel(places[n] as [number, number], random() * 360, random() * 2_500);
        places[n] = at;
        const accuracyM = random() < 0.3 ? Math.round(random() * 400) : 5;
        foresee(n, at, accuracyM);
        const [longitude, latitude] = at;
        return scene.areas.reportPosition(user, device, { longitude, latitude, accuracyM, at: null });
      });
      await Promise.all(sent);
      await scene.settle();
      reports += sent.length;
    }
  }
  const rows = scene.store.find(boundaryTriggerActivities, {}, 1_000_000);
  const acted = rows.map(({ createdAt, boundaryTriggerId, userId, reason }) =>
    [(createdAt - began) / STEP_MS, boundaryTriggerId, userId, reason].join(" "),
  );
  return { tracks, reports, acted: acted.sort(), expected: expected.sort() };
}

async function drawCircles(scene: AreasFixture, random: () => number): Promise<Circle[]> {
  const circles: Circle[] = [];
  for (const start of STARTS) {
    for (let n = 0; n < 3; n++) {
      const centre = travel(start, random() * 360, random() * 2_500);
      const radiusM = Math.round(400 + random() * 2_500);
      circles.push({ id: await scene.area(`Area ${circles.length}`, centre, radiusM), centre, radiusM });
    }
  }
  if (scene.store.count(areasOfInterest, {}) !== circles.length) throw new Error("not all areas were drawn");
  return circles;
}

/** Three of each area: for everybody, for some people by name, for some by a list; with and without rest. */
async function setTriggers(scene: AreasFixture, circles: readonly Circle[], users: readonly string[]) {
  const triggers: Trigger[] = [];
  const some = (rest: number) => users.flatMap((_, at) => (at % 3 === rest ? [at] : []));
  const idsOf = (indexes: readonly number[]) => indexes.map((at) => users[at] as string);
  const list = await scene.list("Some", idsOf(some(1)));
  const kinds = [
    { action: "entered", throttleMs: 0, walkers: null, more: {} },
    { action: "both", throttleMs: 4 * STEP_MS, walkers: new Set(some(0)), more: { userIds: idsOf(some(0)) } },
    { action: "exited", throttleMs: 2 * STEP_MS, walkers: new Set(some(1)), more: { distributionListIds: [list] } },
  ] as const;
  for (const { id: area } of circles) {
    for (const { more, ...kind } of kinds) {
      const given = { action: kind.action, perUserThrottlingInSecs: kind.throttleMs / 1_000, ...more };
      const id = await scene.trigger(area, { ...given, notificationAction: "send-to-none", subject: null });
      triggers.push({ id, area, ...kind });
    }
  }
  return triggers;
}
