import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, createApiClient, listAll } from "../../src/api-client/api-client.ts";
import { TIME_ZONES } from "../../src/resources/bells/time-zones.ts";
import { type InitOutput, LOOPBACK_SETTINGS, runInit, serveAppliance } from "../support/carillon-process.ts";
import { listenToSounds } from "../support/sound-listener.ts";
import { type LoopStatistics, readLoopStatistics, withLoopMonitor, worstLoopStatistics } from "./loop-monitor.ts";

/** What a run came to. */
export interface BulkScheduleRun {
  schedules: number;
  /** Bells that came meanwhile, and how far off the worst of them was. */
  rings: number;
  worstMs: number;
  /** How long each step took, by its name. */
  seconds: Record<string, number>;
  pulse: LoopStatistics;
  /** Promises that were not kept, in words. */
  broken: string[];
}

interface Named {
  id: string;
}

const EVERY_MS = 5_000;
const AHEAD_MS = 5_000;
/** Longer than all that is done meanwhile. */
const RINGS = 60;
const SLACK_MS = 1_000;

/**
 * Uploads so many schedules, rehearses a delay of them all, makes it and takes it back, puts an exception into them all
 * and writes the ring list of a part of them, while a bell rings every few seconds at a zone.
 */
export async function changeManySchedules(
  schedules: number,
  say: (progress: string) => void,
): Promise<BulkScheduleRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-schedules-"));
  const [config, pulseFile] = [join(folder, "carillon.yaml"), join(folder, "pulse.json")];
  writeFileSync(config, LOOPBACK_SETTINGS);
  const first = await runInit(join(folder, "data"));
  const daemon = await withLoopMonitor(pulseFile, () => serveAppliance(join(folder, "data"), ["--config", config]));
  const zone = { group: `239.247.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`, port: 20_560 };
  const listener = await listenToSounds(zone);
  const broken: string[] = [];
  const seconds: Record<string, number> = {};
  const pulses: LoopStatistics[] = [];
  const api = createApiClient(daemon.url, first.token);
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    daemon.child.kill("SIGUSR2");
    const began = performance.now();
    const result = await work();
    seconds[name] = Math.round((performance.now() - began) / 100) / 10;
    await pause(500);
    const pulse = await readLoopStatistics(pulseFile);
    pulses.push(pulse);
    say(`${name}: ${seconds[name]} s, ${pulse.longTurns} long turns, at most ${Math.round(pulse.turnMaxMs)} ms`);
    return result;
  };
  const expect = (kept: boolean, promise: string): void => {
    if (!kept) broken.push(promise);
    say(`${kept ? "kept" : "BROKEN"}: ${promise}`);
  };
  try {
    const moments = await ringAlways(api, first, zone);
    await pause(1_000);
    // With the one that rings all the time.
    const uploaded = schedules - 1;
    await timed("upload", () => upload(api, uploaded));
    const everywhere = { allBellSchedules: true, startDate: dayFromNow(20), endDate: dayFromNow(20) };
    const delay = { kind: "delay", minutes: 60, ...everywhere };
    const path = "/bell-schedules-day-changes";
    const foreseen = await timed("rehearsal", () => api.post<Change>(`${path}?dryRun=true`, delay));
    expect(foreseen.schedulesAffected.length === uploaded, "a rehearsal names all schedules");
    const made = await timed("delay", () => api.post<Change>(path, delay));
    expect((await holding(api)) === uploaded, "a delay changes all schedules");
    const headers = { authorization: `Bearer ${first.token}` };
    const address = `${daemon.url}/api/v1${path}/${made.id}`;
    const { status } = await timed("taking back", () => fetch(address, { method: "DELETE", headers }));
    expect(status === 200, "it can be taken back");
    expect((await holding(api)) === 0, "taken back, it has changed none");
    await timed("exception", () => api.post<Change>("/bell-schedules-bulk-exceptions", everywhere));
    expect((await holding(api)) === uploaded, "an exception goes into all schedules");
    const { data: lists } = await api.get<{ data: (Named & { entries: object[] })[] }>("/ring-lists?name=List%200");
    const [list] = lists;
    await timed("ring list", () => api.put(`/ring-lists/${list?.id}`, { entries: list?.entries.slice(1) ?? [] }));
    await pause(Math.max(0, 2 * EVERY_MS));
    const pulse = worstLoopStatistics(pulses);
    const due = moments.filter((at) => at < Date.now() - SLACK_MS);
    const heard = listener.heard().slice(0, due.length);
    const errors = due.map((at, place) => Math.abs((heard[place]?.at ?? 0) - at));
    const worstMs = Math.max(...errors);
    expect(worstMs <= SLACK_MS, `each of ${due.length} bells is heard once, within ${SLACK_MS} ms`);
    return { schedules, rings: due.length, worstMs, seconds, pulse, broken };
  } finally {
    listener.close();
    await daemon.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

type Change = Named & { schedulesAffected: Named[] };

/** Schedules that have an exception, of those that were uploaded. */
async function holding(api: ApiClient): Promise<number> {
  const all = await listAll<{ bellScheduleExceptions: object[] }>(api, "/bell-schedules");
  return all.filter(({ bellScheduleExceptions }) => bellScheduleExceptions.length > 0).length;
}

function dayFromNow(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

/** Ring lists, and schedules over all zones by upload. */
async function upload(api: ApiClient, schedules: number): Promise<void> {
  const { id: messageTemplateId } = await api.post<Named>("/message-templates", { name: "Lesson", subject: "Lesson" });
  const two = (value: number): string => String(value).padStart(2, "0");
  for (let nth = 0; nth < 10; nth++) {
    const entries = [8, 9, 10, 11, 12, 13, 14].map((hour) => ({
      time: `${two(hour)}:${two(nth)}:00`,
      messageTemplateId,
    }));
    await api.post("/ring-lists", { name: `List ${nth}`, entries });
  }
  const lines = Array.from({ length: schedules }, (_, nth) =>
    [
      `School ${nth}`,
      1,
      dayFromNow(10),
      dayFromNow(300),
      TIME_ZONES[nth % TIME_ZONES.length],
      `0-6=List ${nth % 10}`,
    ].join("\t"),
  );
  const head = ["name", "numWeeks", "startDate", "endDate", "timeZone", "bellScheduleEntries"].join("\t");
  const asked = { resourceType: "bell-schedules", testMode: false };
  const { id } = await api.post<Named>("/bulk-uploads", asked);
  const table = new Blob([[head, ...lines].join("\n")], { type: "text/tab-separated-values" });
  await api.upload(`/bulk-uploads/${id}/file`, table, "schedules.tsv");
  for (;;) {
    const { status } = await api.get<{ status: string }>(`/bulk-uploads/${id}`);
    if (status === "COMPLETE") return;
    if (status === "ERROR") {
      const { data } = await api.get<{ data: { resourceResponse: string }[] }>(`/bulk-uploads/${id}/logs?limit=1`);
      throw new Error(`the upload failed: ${data[0]?.resourceResponse}`);
    }
    await pause(200);
  }
}

/** A zone at which a bell rings every few seconds; answers its moments. */
async function ringAlways(
  api: ApiClient,
  { extensionId, endpointId }: InitOutput,
  zone: { group: string; port: number },
): Promise<number[]> {
  const { icopId } = await api.post<{ icopId: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
    ...{ type: "speakers", deviceIdentifier: "zone:Hall", description: "Hall" },
    attributes: { Group: zone.group, Port: String(zone.port), Codec: "PCMU", TTL: "1" },
  });
  const group = { name: "Hall", filterType: "REJECT", additionIds: [icopId] };
  const { id } = await api.post<Named>("/device-groups", group);
  const message = { name: "Bell", subject: "Bell", alertTone: "class-change1" };
  const { id: messageTemplateId } = await api.post<Named>("/message-templates", message);
  const start = Math.ceil((Date.now() + AHEAD_MS) / 1_000) * 1_000;
  const moments = Array.from({ length: RINGS }, (_, nth) => start + nth * EVERY_MS);
  const texts = moments.map((at) => new Date(at).toISOString());
  const entries = texts.map((at) => ({ time: at.slice(11, 19), messageTemplateId, deviceGroupIds: [id] }));
  const { id: ringListId } = await api.post<Named>("/ring-lists", { name: "Always", entries });
  const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  // It ends before the days that are changed.
  const span = { startDate: dayFromNow(0), endDate: dayFromNow(1), timeZone: "Etc/UTC", numWeeks: 1 };
  await api.post("/bell-schedules", { name: "Always", ...span, bellScheduleEntries: days });
  return moments;
}
