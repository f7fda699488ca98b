import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { listAll } from "../../../src/api-client/api-client.ts";
import { makeZones, type TestZone } from "./commands.ts";
import { type FieldMember, type FieldMembers, openFieldMembers } from "./members.ts";
import { createNetworkField } from "./network-namespaces.ts";
import { type LoadedPeople, loadPeople } from "./people.ts";
import { recordZone, type ZoneRecorder } from "./zone-recorder.ts";

/** What was heard while a link carried what had gathered without it. */
export interface CatchUpRun {
  rows: number;
  /** Changes to them while the appliance was away for three days, and rows that came after it. */
  changes: number;
  came: number;
  /** What came over the line then, and in the middle after a single change of each row; MB. Slow lines pack it. */
  megabytes: number;
  singleMegabytes: number;
  rounds: number;
  /** Emergencies that were sent while rows were still to come, until they were heard. */
  emergencies: number;
  p50Ms: number;
  p99Ms: number;
  /** The same with nothing to catch up on, and what is therefore allowed. */
  quietP99Ms: number;
  limitMs: number;
  /** Longest, from the line's return: until the link stood, and from then until all had come; ms. */
  linkedMs: number;
  caughtUpMs: number;
  /** Evacuations that were out of date when the line returned, and those of them that were heard. */
  stale: number;
  staleHeard: number;
  broken: string[];
}

const ZONES = 16;
/** A zone is free again after the longest of its sounds, and a pause by which the next is told from it. */
const EVERY_MS = 150;
const QUIET_ONES = 32;
/** The cloud's clock is set forward at each of the changes. */
const CHANGES = 10;
const AWAY_MS = 3 * 24 * 3_600_000;
/** @source the promise of README.md: all sides agree within 30 s */
const LINKED_MS = 30_000;
/** Bytes that arrive only over a restored link. */
const CARRIED = 4_096;
const CAUGHT_UP_MS = 120_000;
const HEARD_MS = 10_000;
/** @source the promise of README.md: an emergency during catch-up is heard within 300 ms, p99 */
const MAX_MS = 300;
/** Multiple of the delay of an idle link that is allowed on a busy machine. */
const BUSY_FACTOR = 2;
const STALE_S = 2;
/** The cloud looks through what was never sent every few seconds. */
const TOLD_MS = 15_000;

/** All that a round needs. */
interface Scene {
  members: FieldMembers;
  people: LoadedPeople;
  rows: number;
  zones: readonly TestZone[];
  /** What is out of date is sent to this one. */
  staleZone: TestZone;
  ears: ReadonlyMap<TestZone, ZoneRecorder>;
  latencies: number[];
  told: CatchUpRun;
}

/**
 * An appliance is away for three days, in which each of `rows` rows changes ten times; then `rounds` times its line is cut
 * while each changes once. After the line's return emergencies are sent one after another until all rows have come; each
 * is heard by ffmpeg at one of the appliance's zones. `faketime` is libfaketime's path.
 */
export async function measureSoundDuringCatchUp(
  { rows, rounds, faketime }: { rows: number; rounds: number; faketime: string },
  say: (progress: string) => void,
): Promise<CatchUpRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-catch-up-"));
  const field = createNetworkField();
  try {
    const members = await openFieldMembers({ field, folder, faketime });
    try {
      const { hub, sites } = members;
      const all = await makeZones(sites[0], 1, ZONES + 1);
      const listening = all.map(async (zone) => [zone, await recordZone(zone.target, field.own, folder)] as const);
      const ears = new Map(await Promise.all(listening));
      await known(hub, all);
      const people = await loadPeople(hub, rows, "Person");
      for (const site of sites) while ((await people.lastAt(site)) === null) await pause(100);
      say(`${rows} rows are everywhere`);
      const [staleZone, ...zones] = all as [TestZone, ...TestZone[]];
      const scene = { members, people, rows, zones, staleZone, ears, latencies: [], told: nothing(rows) };
      await play(scene, rounds, say);
      for (const each of ears.values()) each.close();
      return scene.told;
    } finally {
      await members.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function nothing(rows: number): CatchUpRun {
  return {
    ...{ rows, changes: rows * CHANGES, came: 0, megabytes: 0, singleMegabytes: 0, rounds: 0, emergencies: 0 },
    ...{ p50Ms: -1, p99Ms: -1, quietP99Ms: -1, limitMs: MAX_MS, linkedMs: 0, caughtUpMs: 0, stale: 0, staleHeard: 0 },
    broken: [],
  };
}

async function play(scene: Scene, rounds: number, say: (progress: string) => void): Promise<void> {
  const { told, latencies, rows } = scene;
  const quiet: number[] = [];
  for (let place = 0; place < QUIET_ONES; place++) quiet.push((await soundOne(scene, place)) ?? HEARD_MS);
  told.quietP99Ms = atShare(quiet, 0.99);
  told.limitMs = Math.max(MAX_MS, Math.round(told.quietP99Ms * BUSY_FACTOR));
  say(`on a quiet link emergencies are heard after ${atShare(quiet, 0.5)} ms, ${told.quietP99Ms} ms (p99)`);

  const before = await rowsThatCame(scene);
  told.megabytes = await beAway(scene);
  told.came = (await rowsThatCame(scene)) - before;
  if (told.came !== rows) told.broken.push(`${told.came} rows came after three days, not ${rows}`);
  say(`after three days and ${told.changes} changes ${told.came} rows came, ${told.megabytes} MB`);

  const single: number[] = [];
  for (let round = 0; round < rounds; round++) {
    single.push(await beCut(scene, round));
    say(`round ${round + 1}: ${latencies.length} emergencies, caught up after ${told.caughtUpMs} ms at most`);
  }
  told.singleMegabytes = atShare(single, 0.5);
  Object.assign(told, {
    emergencies: latencies.length,
    p50Ms: atShare(latencies, 0.5),
    p99Ms: atShare(latencies, 0.99),
  });
  if (told.p99Ms > told.limitMs) told.broken.push(`an emergency was heard only after ${told.p99Ms} ms (p99)`);
}

function atShare(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? -1;
}

/** The appliance is without power and line for three days, in which people are renamed again and again; MB that came then. */
async function beAway(scene: Scene): Promise<number> {
  const { members, people } = scene;
  const [site, other] = members.sites;
  const line = site.place.line("wan");
  line.cut();
  await site.end("SIGKILL");
  const stale = await send(members.hub, scene.staleZone);
  let last = "";
  for (let change = 0; change < CHANGES; change++) {
    for (const { clock } of [members.hub, site, other]) clock?.step(AWAY_MS / CHANGES);
    last = await people.rename(`Change ${change}`);
  }
  await site.start();
  const came = await comeBack(scene, last);
  await judgeStale(scene, stale);
  return came;
}

/** The appliance's line is cut while people are renamed once; MB that came then. */
async function beCut(scene: Scene, round: number): Promise<number> {
  const { members, people } = scene;
  members.sites[0].place.line("wan").cut();
  const stale = await send(members.hub, scene.staleZone, { expiration: STALE_S });
  const staleSince = Date.now();
  const last = await people.rename(`Round ${round}`);
  await pause(Math.max(0, staleSince + (STALE_S + 1) * 1_000 - Date.now()));
  const came = await comeBack(scene, last);
  scene.told.rounds += 1;
  await judgeStale(scene, stale);
  return came;
}

/** Lets the line return and sends emergencies until all rows have come; gives the MB that came. */
async function comeBack(scene: Scene, last: string): Promise<number> {
  const { members, people, latencies, told } = scene;
  const [site] = members.sites;
  const line = site.place.line("wan");
  const before = line.came();
  line.heal();
  const healedAt = performance.now();
  await linked(site, () => line.came() - before);
  const linkedAt = performance.now();
  told.linkedMs = Math.max(told.linkedMs, Math.round(linkedAt - healedAt));
  if (told.linkedMs > LINKED_MS) told.broken.push(`the link stood only after ${told.linkedMs} ms`);
  for (let place = 0; (await people.lastAt(site)) !== last; place++) {
    if (performance.now() - linkedAt > CAUGHT_UP_MS) throw new Error(`rows are missing:\n${site.log().slice(-8_000)}`);
    const heardMs = await soundOne(scene, place);
    if (heardMs === null) told.broken.push("an emergency was not heard during the catch-up");
    // What was sent when all had come is no part of it.
    else if ((await people.lastAt(site)) !== last) latencies.push(heardMs);
  }
  told.caughtUpMs = Math.max(told.caughtUpMs, Math.round(performance.now() - linkedAt));
  return Math.round((line.came() - before) / 1e4) / 100;
}

/** Sends an emergency and waits until it is heard; gives how long that took, null for never. */
async function soundOne({ members, zones, ears }: Scene, place: number): Promise<number | null> {
  const zone = zones[place % zones.length] as TestZone;
  const at = Date.now();
  await send(members.hub, zone);
  const heardAt = await (ears.get(zone) as ZoneRecorder).heardAfter(at, HEARD_MS);
  await pause(EVERY_MS);
  return heardAt === null ? null : heardAt - at;
}

async function judgeStale({ members, staleZone, ears, told }: Scene, id: string): Promise<void> {
  told.stale += 1;
  const heard = ears.get(staleZone)?.heard().length ?? 0;
  if (heard > told.staleHeard) told.broken.push("an evacuation that was out of date was heard");
  told.staleHeard = heard;
  const levels = async (): Promise<string> => {
    const lines = await listAll<{ level: string }>(members.hub.api, `/notifications/${id}/devices`);
    return lines.map(({ level }) => level).join();
  };
  const limit = performance.now() + TOLD_MS;
  let is = await levels();
  for (; is !== "expired" && performance.now() < limit; is = await levels()) await pause(200);
  if (is !== "expired") told.broken.push(`an evacuation that was out of date is ${is}`);
}

/** What the appliance's activities say of people's rows that it applied. */
async function rowsThatCame({ members: { sites } }: Scene): Promise<number> {
  const [{ api, first }] = sites;
  const path = `/extensions/${first.extensionId}/endpoints/${first.endpointId}/activities`;
  const all = await listAll<{ type: string; state: string; value: { rows?: number } | null }>(api, path);
  const ofPeople = all.filter(({ type, state }) => type === "recipient-group-dependency-sync" && state === "success");
  return ofPeople.reduce((sum, { value }) => sum + (value?.rows ?? 0), 0);
}

async function send({ api }: FieldMember, zone: TestZone, more: { expiration?: number } = {}): Promise<string> {
  const message = { subject: "Evacuate", alertTone: "chime", priority: "critical", additionalDeviceIds: [zone.device] };
  return (await api.post<{ id: string }>("/notifications", { ...message, ...more })).id;
}

/**
 * Until rows come. That the appliance shows its link is not enough: a connection that outlived a cut stands all along, and
 * carries again once TCP repeats what was lost, up to as long after the line's return as it was cut. `came` counts bytes.
 */
async function linked({ api, first, log }: FieldMember, came: () => number): Promise<void> {
  const path = `/extensions/${first.extensionId}/endpoints/${first.endpointId}/failover-status`;
  const limit = performance.now() + LINKED_MS * 3;
  while (performance.now() < limit) {
    const { mode } = await api.get<{ mode?: string }>(path).catch(() => ({ mode: "" }));
    if (mode === "cloud" && came() > CARRIED) return;
    await pause(20);
  }
  throw new Error(`the link did not return:\n${log().slice(-8_000)}`);
}

/** Until the cloud knows the zones. */
async function known({ api }: FieldMember, zones: readonly TestZone[]): Promise<void> {
  for (const { site, device } of zones) {
    const path = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/devices/${device}`;
    while (!(await api.get(path).catch(() => null))) await pause(100);
  }
}
