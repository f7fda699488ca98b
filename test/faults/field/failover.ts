import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { listAll } from "../../../src/api-client/api-client.ts";
import { createRandomSource, type RandomSource } from "../../sim/seeded-random.ts";
import { runCarillon } from "../../support/carillon-process.ts";
import { type FieldMember, type FieldMembers, openFieldMembers } from "./members.ts";
import { createNetworkField } from "./network-namespaces.ts";
import { recordZone, type SoundInterval, type ZoneRecorder } from "./zone-recorder.ts";

/** What the kills led to. */
export interface FailoverRun {
  kills: number;
  bells: number;
  missed: number;
  /** Bells of which more was heard than one appliance sounds, by what explains it. */
  doubledAfterFirstPacket: number;
  doubledInPartition: number;
  /** Longest time without sound: from a bell's moment, or from the kill that cut it off, ms. */
  takeoverMaxMs: number;
  /** Each promise that was broken, in words. */
  broken: string[];
}

const ZONE = { group: "239.211.1.1", port: 20_480 };
/** What `class-change1` lasts. */
const BELL_MS = 1_600;
const SLACK_MS = 150;
/** A bell is made this long before its time; longer once it did not reach all in time. */
const AHEAD_MS = [9_000, 20_000, 40_000] as const;
/** Kills fall into this time around a bell's. */
const [EARLIEST_MS, LATEST_MS] = [-4_000, 2_500];
/** From then on a bell has been heard, or was missed. */
const OVER_MS = 12_000;
/** Partitions begin. */
const CUT_MS = -5_500;
const TAKEOVER_MS = 5_000;
/** Nothing is heard of a bell earlier than this before its time. */
const EARLY_MS = 2_000;
/** Listening time after the last bell: a restarted appliance needs a while to hear its neighbours. */
const LAST_MS = 8_000;
const READY_MS = 60_000;

/** Kills the appliance that acts around the moment of a bell `kills` times, every fifth time in a partition; ffmpeg hears the bells. */
export async function killActiveAppliance(
  kills: number,
  seed: number,
  say: (progress: string) => void,
): Promise<FailoverRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-cover-"));
  const field = createNetworkField();
  const run: FailoverRun = {
    ...{ kills: 0, bells: 0, missed: 0, doubledAfterFirstPacket: 0, doubledInPartition: 0, takeoverMaxMs: 0 },
    broken: [],
  };
  try {
    const members = await openFieldMembers({ field, folder, faketime: null });
    const ears = await recordZone(ZONE, field.own, folder);
    try {
      const bell = await makeBell(members);
      const dice = createRandomSource(seed);
      const killed: Killed[] = [];
      for (let kill = 0; kill < kills; kill++) {
        killed.push(await killAround(members, bell, dice, kill % 5 === 4, say));
        say(`${kill + 1}: ${inWords(killed.at(-1) as Killed, ears, bell)}`);
      }
      await pause(LAST_MS);
      for (const each of killed) judge(each, heardOf(each, ears, bell), inWords(each, ears, bell), run);
    } finally {
      ears.close();
      await members.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return run;
}

interface Bell {
  activationGroupId: string;
  /** When it was to ring, each time. */
  moments: number[];
  /** Makes the bell ring once, at `at`. */
  ring(at: number): Promise<string>;
}

/** One zone that both appliances serve, in an activation group of both. */
async function makeBell({ hub, sites }: FieldMembers): Promise<Bell> {
  const make = async (path: string, body: Record<string, unknown>, at = hub): Promise<string> =>
    (await at.api.post<{ id: string }>(path, body)).id;
  for (const site of sites) {
    const { extensionId, endpointId } = site.first;
    const attributes = { Group: ZONE.group, Port: String(ZONE.port), Codec: "PCMU", TTL: "4" };
    const zone = { type: "speakers", deviceIdentifier: "zone:hall", description: "Hall", attributes };
    await make(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, zone, site);
  }
  const members = { filterType: "REJECT", additionIds: ["zone:hall"] };
  const endpointIds = sites.map(({ first }) => first.endpointId);
  const activationGroupId = await make("/activation-groups", { name: "Hall", priority: 1, endpointIds, ...members });
  const group = await make("/device-groups", { name: "Hall", ...members });
  const template = { name: "Bell", subject: "Bell", alertTone: "class-change1" };
  const messageTemplateId = await make("/message-templates", template);
  const moments: number[] = [];
  return {
    activationGroupId,
    moments,
    async ring(at) {
      moments.push(at);
      const time = new Date(at).toISOString();
      const entries = [{ time: time.slice(11, 19), messageTemplateId, deviceGroupIds: [group] }];
      const ringListId = await make("/ring-lists", { name: time, entries });
      const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
      const span = { startDate: time.slice(0, 10), endDate: time.slice(0, 10), timeZone: "Etc/UTC", numWeeks: 1 };
      return make("/bell-schedules", { name: time, ...span, bellScheduleEntries: days });
    },
  };
}

/** A bell around which the acting appliance was killed. */
interface Killed {
  at: number;
  killedAt: number;
  acting: string;
  inPartition: boolean;
  logs(): string;
}

/** Has a bell ring as soon as both know of it, with time for what is to come; gives its time and who acts. */
async function nextBell(
  sites: FieldMembers["sites"],
  bell: Bell,
  say: (progress: string) => void,
): Promise<{ acting: FieldMember; at: number }> {
  for (const aheadMs of AHEAD_MS) {
    const acting = await ready(sites, bell.activationGroupId);
    const at = Math.ceil((Date.now() + aheadMs) / 1_000) * 1_000;
    const schedule = await bell.ring(at);
    const known = await Promise.all(sites.map((site) => planned(site, schedule, at + CUT_MS)));
    if (known.every((each) => each !== null)) return { acting, at };
    const shown = known.map((ms, place) => `${sites[place]?.name} after ${ms ?? "more"} ms`);
    const states = await Promise.all(
      sites.map((site, place) => (known[place] === null ? stateOf(site, schedule) : "")),
    );
    say(`a bell was not known in time: ${shown.join(", ")}${states.join("\n")}`);
    // It may be heard nonetheless.
    await until(at + OVER_MS);
  }
  throw new Error(
    `a bell did not reach both appliances in time:\n${sites.map((site) => site.log().slice(-8_000)).join("\n")}`,
  );
}

async function killAround(
  { sites }: FieldMembers,
  bell: Bell,
  dice: RandomSource,
  inPartition: boolean,
  say: (progress: string) => void,
): Promise<Killed> {
  const { acting, at } = await nextBell(sites, bell, say);
  const killAt = at + EARLIEST_MS + dice.below(LATEST_MS - EARLIEST_MS);
  const lines = (["lan", "wan"] as const).map((network) => acting.place.line(network));
  if (inPartition) {
    await until(at + CUT_MS);
    for (const line of lines) line.cut();
  }
  await until(killAt);
  const killedAt = Date.now();
  await acting.end("SIGKILL");
  await until(Math.max(at, killedAt) + TAKEOVER_MS);
  for (const line of lines) line.heal();
  await acting.start();
  return { at, killedAt, acting: acting.name, inPartition, logs: () => sites.map((site) => site.log()).join("\n") };
}

/** What was heard of a bell until the next one: nor does the appliance that comes back sound it once more. */
function heardOf({ at }: Killed, ears: ZoneRecorder, { moments }: Bell): SoundInterval[] {
  const next = Math.min(...moments.filter((moment) => moment > at));
  return ears.heard().filter(({ from }) => from >= at - EARLY_MS && from < next - EARLY_MS);
}

function inWords(killed: Killed, ears: ZoneRecorder, bell: Bell): string {
  const { at, killedAt, acting, inPartition } = killed;
  const shown = heardOf(killed, ears, bell).map(({ from, ms }) => `${from - at} ms for ${Math.round(ms)}`);
  const where = inPartition ? " in a partition" : "";
  return `${acting} killed at ${killedAt - at} ms${where}; heard at ${shown.join(", ") || "never"}`;
}

const until = (moment: number): Promise<void> => pause(Math.max(0, moment - Date.now()));

interface Status {
  mode: "cloud" | "lan" | "solo";
  activationGroupIds: string[];
  peers: string[];
}

/** Waits until both are linked, hear each other and agree on who acts; gives that one. */
async function ready(sites: FieldMembers["sites"], groupId: string): Promise<FieldMember> {
  const limit = performance.now() + READY_MS;
  while (performance.now() < limit) {
    const all = await Promise.all(sites.map((site) => statusOf(site).catch(() => null)));
    const acting = sites.filter((_, at) => all[at]?.activationGroupIds.includes(groupId));
    if (all.every((status) => status?.mode === "cloud" && status.peers.length === 1) && acting.length === 1)
      return acting[0] as FieldMember;
    await pause(200);
  }
  throw new Error(`the appliances did not agree on who acts within ${READY_MS} ms`);
}

async function statusOf({ api, first }: FieldMember): Promise<Status> {
  return api.get<Status & Record<string, unknown>>(
    `/extensions/${first.extensionId}/endpoints/${first.endpointId}/failover-status`,
  );
}

/** What an appliance that does not know of a bell says of it, and of its link. */
async function stateOf({ api, dataDir, log }: FieldMember, schedule: string): Promise<string> {
  const path = `/bell-schedules/${schedule}`;
  const [row, rings] = await Promise.all([path, `${path}/rings`].map((each) => api.get(each).catch(String)));
  const { stdout } = await runCarillon(["link", "status", "--data", dataDir, "--json"]);
  return `\n${JSON.stringify({ row, rings })}\n${stdout}${log().slice(-4_000)}`;
}

/** How long until the appliance knows of the bell, ms; null when it does not before `limit`. */
async function planned({ api }: FieldMember, schedule: string, limit: number): Promise<number | null> {
  const began = Date.now();
  while (Date.now() < limit) {
    const rings = await listAll<{ state: string }>(api, `/bell-schedules/${schedule}/rings`).catch(() => []);
    if (rings.some(({ state }) => state === "planned" || state === "prepared")) return Date.now() - began;
    await pause(100);
  }
  return null;
}

function judge(
  { killedAt, at, inPartition, logs }: Killed,
  heard: readonly SoundInterval[],
  told: string,
  run: FailoverRun,
): void {
  run.kills += 1;
  run.bells += 1;
  const [first, next] = heard;
  if (!first) {
    run.missed += 1;
    run.broken.push(`missed: ${told}\n${logs().slice(-8_000)}`);
    return;
  }
  const isCut = killedAt >= first.from && first.ms < BELL_MS - SLACK_MS;
  const waited = isCut ? (next ? next.from - killedAt : Number.POSITIVE_INFINITY) : first.from - at;
  if (waited > TAKEOVER_MS) run.broken.push(`taken over after ${waited} ms: ${told}`);
  else run.takeoverMaxMs = Math.max(run.takeoverMaxMs, waited);
  const total = heard.reduce((sum, { ms }) => sum + ms, 0);
  if (total <= BELL_MS + SLACK_MS && !next) return;
  if (inPartition) run.doubledInPartition += 1;
  else if (killedAt >= first.from) run.doubledAfterFirstPacket += 1;
  else run.broken.push(`doubled for no reason: ${told}`);
}
