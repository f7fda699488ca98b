import { setTimeout as pause } from "node:timers/promises";
import { listAll } from "../../../src/api-client/api-client.ts";
import { runCarillon } from "../../support/carillon-process.ts";
import { makeZones, type TestZone } from "./commands.ts";
import { type FieldMember, type FieldMembers, waitUntilLinked } from "./members.ts";
import { recordZone, type ZoneRecorder } from "./zone-recorder.ts";

/** What bringing back a day-old backup led to, of an appliance and then of the cloud. */
export interface RestoreRun {
  restores: number;
  /** Longest time from the start of what was restored until all sides agreed, ms. */
  agreedMs: number;
  /** Sounds of before the restore that were heard again. */
  soundedAgain: number;
  broken: string[];
}

/** What restoring is made of. */
export interface RestoreScene {
  members: FieldMembers;
  own: string;
  folder: string;
  /** Waits until all sides agree; gives where they still differ. */
  agree(): Promise<string[]>;
  /** Lets all sides write for a while. */
  live(): Promise<void>;
  /** What of that should be in the cloud and is not, in words; `isCloud` is what was restored since. */
  lost(isCloud: boolean): Promise<string[]>;
  say(progress: string): void;
}

/** A zone of each appliance, and who hears it. */
type Pair = readonly { zone: TestZone; ears: ZoneRecorder }[];

const DAY_MS = 24 * 3_600_000;
/** @source the promise of README.md: all sides agree within 30 s */
const AGREED_MS = 30_000;
const HEARD_MS = 15_000;
/** An old notification that plays again does so within this time, because commands arrive with the connection. */
const AGAIN_MS = 8_000;
const LINKED_MS = 60_000;
const CHIME_MS = 1_500;
const SLACK_MS = 150;
/** How often a zone of each appliance is needed. */
const NEEDED = 4;
/** Of the networks that no other zone is in. */
const NETWORK = 31;

/**
 * Takes backups of an appliance and of the cloud while messages are under way, lets all sides go on, and brings one back a
 * day later: all sides agree, what sounded does not sound again, and what is sent then is heard once. Then the same with
 * the other one. Clocks are set while nobody runs.
 */
export async function restoreBothSides(scene: RestoreScene): Promise<RestoreRun> {
  const { members, say } = scene;
  const { hub, sites } = members;
  const run: RestoreRun = { restores: 0, agreedMs: 0, soundedAgain: 0, broken: [] };
  const pairs = await openPairs(scene);
  await scene.agree();
  const old: Pair[] = [];
  for (const [place, member] of [sites[0], hub].entries()) {
    const [before, after] = [pairs[place * 2], pairs[place * 2 + 1]] as [Pair, Pair];
    await Promise.all(["critical", "normal"].map((priority) => send(hub, before, priority)));
    const backup = await backupOf(member);
    old.push(before);
    for (const { ears, zone } of before)
      if ((await ears.heardAfter(0, HEARD_MS)) === null)
        run.broken.push(`${zone.site.name} did not sound before the backup`);
    await scene.live();
    await scene.agree();
    const heard = soundsOf(old);
    await aDayLater(members, member, backup);
    const began = performance.now();
    for (const site of sites) await waitUntilLinked(site, LINKED_MS);
    const left = await scene.agree();
    const agreedMs = Math.round(performance.now() - began);
    run.restores += 1;
    run.agreedMs = Math.max(run.agreedMs, agreedMs);
    say(`${member.name} is restored; all agreed after ${agreedMs} ms`);
    for (const words of [...left.slice(0, 10), ...(await scene.lost(member === hub))])
      run.broken.push(`after the restore of ${member.name}: ${words}`);
    if (agreedMs > AGREED_MS)
      run.broken.push(`all sides agreed only ${agreedMs} ms after the restore of ${member.name}`);
    await pause(AGAIN_MS);
    const again = soundsOf(old) - heard;
    run.soundedAgain += again;
    if (again > 0) run.broken.push(`after the restore of ${member.name} ${again} old sounds were heard again`);
    await soundNew(scene, after, member, run);
    old.push(after);
  }
  for (const { ears } of pairs.flat()) ears.close();
  return run;
}

async function openPairs({ members: { sites }, own, folder }: RestoreScene): Promise<Pair[]> {
  const zones = await Promise.all(sites.map((site, at) => makeZones(site, NETWORK + at, NEEDED)));
  return Promise.all(
    Array.from({ length: NEEDED }, (_, place) =>
      Promise.all(
        zones.map(async (of) => {
          const zone = of[place] as TestZone;
          return { zone, ears: await recordZone(zone.target, own, folder) };
        }),
      ),
    ),
  );
}

/** Stretches of sound. */
function soundsOf(pairs: readonly Pair[]): number {
  return pairs.flat().reduce((sum, { ears }) => sum + ears.heard().length, 0);
}

async function send({ api }: FieldMember, pair: Pair, priority: string): Promise<string> {
  const body = { subject: priority, alertTone: "chime", additionalDeviceIds: pair.map(({ zone }) => zone.device) };
  const isUrgent = priority === "critical";
  return (await api.post<{ id: string }>("/notifications", { ...body, ...(isUrgent && { priority }) })).id;
}

/** By the product's own command; gives the archive. */
async function backupOf({ dataDir, name }: FieldMember): Promise<string> {
  const { code, stdout, stderr } = await runCarillon(["backup", "--data", dataDir, "--json"]);
  if (code !== 0) throw new Error(`the backup of ${name} ended with ${code}: ${stderr}`);
  return (JSON.parse(stdout) as { path: string }).path;
}

/** Ends all, sets all clocks a day forward, brings the backup back and starts all again. */
async function aDayLater({ hub, sites }: FieldMembers, member: FieldMember, backup: string): Promise<void> {
  const all = [hub, ...sites];
  await Promise.all(all.map((each) => each.end("SIGTERM")));
  for (const { clock } of all) clock?.step(DAY_MS);
  const { code, stderr } = await runCarillon(["restore", backup, "--data", member.dataDir], member.clockEnv);
  if (code !== 0) throw new Error(`the restore of ${member.name} ended with ${code}: ${stderr}`);
  await Promise.all(all.map((each) => each.start()));
}

/** An emergency after the restore is heard once at each appliance, and told so. */
async function soundNew(
  { members: { hub } }: RestoreScene,
  pair: Pair,
  member: FieldMember,
  run: RestoreRun,
): Promise<void> {
  const id = await send(hub, pair, "critical");
  for (const { zone, ears } of pair) {
    const words = `the emergency after the restore of ${member.name} at ${zone.site.name}`;
    if ((await ears.heardAfter(0, HEARD_MS)) === null) run.broken.push(`${words} was not heard`);
  }
  await pause(CHIME_MS * 2);
  for (const { zone, ears } of pair) {
    const ms = ears.heard().reduce((sum, each) => sum + each.ms, 0);
    if (ms > CHIME_MS + SLACK_MS)
      run.broken.push(`the emergency after the restore of ${member.name} was heard twice at ${zone.site.name}`);
  }
  const lines = await listAll<{ level: string }>(hub.api, `/notifications/${id}/devices`);
  if (lines.length !== pair.length || lines.some(({ level }) => level !== "sent"))
    run.broken.push(`the emergency after the restore of ${member.name} is ${lines.map(({ level }) => level).join()}`);
}
