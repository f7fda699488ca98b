import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { makeZones, type Zone } from "./commands.ts";
import { type Ears, listen } from "./ears.ts";
import { linked, type Member, type Members, openMembers } from "./members.ts";
import { createField } from "./own-network.ts";

/** What was heard while a link carried what had gathered without it. */
export interface CatchUpRun {
  rows: number;
  rounds: number;
  /** Emergencies that were sent while rows were still to come. */
  emergencies: number;
  p50Ms: number;
  p99Ms: number;
  /** Longest catch-up, from the link's return; ms. */
  caughtUpMs: number;
  /** Evacuations that were out of date when the link returned, and those of them that were heard. */
  stale: number;
  staleHeard: number;
  broken: string[];
}

const ZONES = 8;
/** A zone is free again after the longest of its sounds. */
const EVERY_MS = 250;
const AT_ONCE = 32;
const LINKED_MS = 90_000;
const HEARD_MS = 10_000;
/** @source the promise of README.md: an emergency during catch-up is heard within 300 ms, p99 */
const MOST_MS = 300;
const STALE_S = 2;

/**
 * `rounds` times: cuts the link of an appliance, changes `rows` rows in the cloud, lets the link return, and sends
 * emergencies one after another until all rows have come. Each is heard by ffmpeg at one of the appliance's zones.
 */
export async function soundWhileCatchingUp(
  rows: number,
  rounds: number,
  say: (progress: string) => void,
): Promise<CatchUpRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-catch-up-"));
  const field = createField();
  const latencies: number[] = [];
  const run = {
    rows,
    rounds: 0,
    emergencies: 0,
    p50Ms: 0,
    p99Ms: 0,
    caughtUpMs: 0,
    stale: 0,
    staleHeard: 0,
    broken: [],
  };
  const told: CatchUpRun = run;
  try {
    const members = await openMembers({ field, folder, faketime: null });
    const [site] = members.sites;
    const zones = await makeZones(site, 1, ZONES + 1);
    const ears = await Promise.all(zones.map(({ target }) => listen(target, field.own, folder)));
    try {
      await known(members.hub, zones);
      const ids = await makeRows(members.hub, rows);
      say(`${rows} rows`);
      for (let round = 0; round < rounds; round++) {
        await playRound(members, { round, ids, zones, ears }, told, latencies);
        say(`round ${round + 1}: ${latencies.length} emergencies, caught up after ${told.caughtUpMs} ms at most`);
      }
    } finally {
      for (const each of ears) each.close();
      await members.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.max(0, Math.ceil(latencies.length * share) - 1)] ?? -1;
  Object.assign(told, { emergencies: latencies.length, p50Ms: at(0.5), p99Ms: at(0.99) });
  if (told.p99Ms > MOST_MS) told.broken.push(`an emergency was heard only after ${told.p99Ms} ms (p99)`);
  return told;
}

interface Round {
  round: number;
  ids: readonly string[];
  /** The last one is that of what is out of date. */
  zones: readonly Zone[];
  ears: readonly Ears[];
}

async function playRound(
  { hub, sites: [site] }: Members,
  { round, ids, zones, ears }: Round,
  told: CatchUpRun,
  latencies: number[],
): Promise<void> {
  const line = site.place.line("wan");
  line.cut();
  const stale = await send(hub, zones.at(-1) as Zone, { expiration: STALE_S });
  const staleSince = Date.now();
  const name = `Round ${round}`;
  await inParallel(ids, (id, place) => hub.api.put(`/users/${id}`, { name: `${name} ${place}` }));
  await pause(Math.max(0, staleSince + (STALE_S + 1) * 1_000 - Date.now()));
  line.heal();
  await linked(site, LINKED_MS);
  const healedAt = Date.now();
  const last = { id: ids.at(-1) as string, is: `${name} ${ids.length - 1}` };
  for (let place = 0; !(await hasCome(site, last)); place++) {
    const at = Date.now();
    const listener = ears[place % ZONES] as Ears;
    await send(hub, zones[place % ZONES] as Zone);
    const heard = await listener.heardAfter(at, HEARD_MS);
    if (heard === null) told.broken.push("an emergency was not heard during the catch-up");
    // What was sent when all had come is no part of it.
    else if (!(await hasCome(site, last))) latencies.push(heard - at);
    await pause(EVERY_MS);
  }
  told.rounds += 1;
  told.caughtUpMs = Math.max(told.caughtUpMs, Date.now() - healedAt);
  await judgeStale(hub, stale, ears.at(-1) as Ears, staleSince, told);
}

async function judgeStale(hub: Member, id: string, ears: Ears, since: number, told: CatchUpRun): Promise<void> {
  told.stale += 1;
  if (ears.heard().some(({ from }) => from >= since)) {
    told.staleHeard += 1;
    told.broken.push("an evacuation that was out of date was heard");
  }
  const { data } = await hub.api.get<{ data: { level: string }[] }>(`/notifications/${id}/devices`);
  if (data.some(({ level }) => level !== "expired"))
    told.broken.push(`an evacuation that was out of date is ${data.map(({ level }) => level).join()}`);
}

async function send({ api }: Member, zone: Zone, more: { expiration?: number } = {}): Promise<string> {
  const message = { subject: "Evacuate", alertTone: "chime", priority: "critical", additionalDeviceIds: [zone.device] };
  return (await api.post<{ id: string }>("/notifications", { ...message, ...more })).id;
}

async function hasCome({ api }: Member, { id, is }: { id: string; is: string }): Promise<boolean> {
  const { name } = await api.get<{ name?: string }>(`/users/${id}`).catch(() => ({ name: "" }));
  return name === is;
}

/** Until the cloud knows the zones. */
async function known({ api }: Member, zones: readonly Zone[]): Promise<void> {
  for (const { site, device } of zones) {
    const path = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/devices/${device}`;
    while (!(await api.get(path).catch(() => null))) await pause(100);
  }
}

async function makeRows(hub: Member, count: number): Promise<string[]> {
  const ids: string[] = [];
  const places = Array.from({ length: count }, (_, place) => place);
  await inParallel(places, async (place) => {
    ids[place] = (await hub.api.post<{ id: string }>("/users", { name: `Row ${place}`, type: "anonymous" })).id;
  });
  return ids;
}

async function inParallel<T>(all: readonly T[], work: (each: T, place: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let place = next++; place < all.length; place = next++) await work(all[place] as T, place);
    }),
  );
}
