import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, createApiClient } from "../../../src/api-client/api-client.ts";
import { eachRing } from "../../../src/bells/schedule-expansion.ts";
import { DAY_MS } from "../../../src/lib/durations.ts";
import { stressSchedules } from "../../../src/tools/bell-simulation/stress-schedules.ts";
import { type InitOutput, LOOPBACK_SETTINGS, runInit, serveAppliance } from "../../support/carillon-process.ts";
import { listenToSounds } from "../../support/sound-listener.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median, percentile } from "../benchmark-row.ts";
import { measureGets, measurePosts } from "../http-load.ts";
import { measureNextRings, type NextRingsFigures } from "./next-rings.ts";

const ROUNDS = 5;
const SCHEDULES = 3_500;
const YEAR_GOAL_MS = 2_000;
const RINGS = 10;
/** A device is wanted 2 s before the ring: the one before is over by then. */
const EVERY_MS = 5_000;
const AHEAD_MS = 4_000;
const CLIENTS = 16;
const IDLE_GOAL_MS = 20;
const LOADED_GOAL_MS = 250;

/** @source performance.md, row 10 */
const FIRST_GOAL_MS = 50;
const NEXT_GOAL_MS = 1;

/**
 * Row 10: a school year of 3,500 schedules worked out, all zones among them; the next 100 bells of them told after a
 * restart, and again; and how far from its moment the first packet
 * of a ring comes in at a receiver of the multicast zone, while nothing else goes on and while clients read and create as
 * fast as they are answered.
 */
export const bells: BenchmarkRow = {
  number: 10,
  name: "bells",
  async measure(say) {
    const years: number[] = [];
    for (let round = 0; round < ROUNDS; round++) years.push(expandYear());
    say("a year was worked out");
    const next = await measureNextRings(SCHEDULES);
    say("the next bells were told");
    const { idle, loaded } = await measureStarts(say);
    return [...figuresOf(median(years), idle, loaded), ...figuresOfNext(next)];
  },
};

function figuresOf(yearMs: number, idle: readonly number[], loaded: readonly number[]): BenchmarkFigure[] {
  const unit = "ms";
  const what = `start of a ring at a zone, the worst of ${RINGS}`;
  return [
    atMost(
      { what: `${SCHEDULES} schedules, one school year`, ours: yearMs, limit: YEAR_GOAL_MS, against: "the goal", unit },
      1,
    ),
    atMost({ what: `${what}, idle`, ours: percentile(idle, 99), limit: IDLE_GOAL_MS, against: "the goal", unit }, 1),
    atMost(
      {
        what: `${what}, ${CLIENTS} clients read and create`,
        ours: percentile(loaded, 99),
        limit: LOADED_GOAL_MS,
        against: "the goal",
        unit,
      },
      1,
    ),
  ];
}

function figuresOfNext(rounds: readonly NextRingsFigures[]): BenchmarkFigure[] {
  const first = median(rounds.map((round) => round.first));
  const further = median(rounds.flatMap((round) => round.further));
  const shared = { against: "the goal", unit: "ms" };
  return [
    atMost({ what: "next 100 bells, first after opening the data", ours: first, limit: FIRST_GOAL_MS, ...shared }, 1),
    atMost({ what: "next 100 bells, each after that", ours: further, limit: NEXT_GOAL_MS, ...shared }, 1),
  ];
}

/** Works out all rings of a year; ms. Throws when that are too few to be a year. */
function expandYear(): number {
  const schedules = stressSchedules(SCHEDULES, 2026, 1);
  const from = Date.UTC(2026, 7, 1);
  let rings = 0;
  const began = performance.now();
  for (const schedule of schedules) eachRing(schedule, from, from + 335 * DAY_MS, () => void rings++);
  const ms = performance.now() - began;
  if (rings < 4_000_000) throw new Error(`only ${rings} rings`);
  return ms;
}

async function measureStarts(say: (progress: string) => void): Promise<{ idle: number[]; loaded: number[] }> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const config = join(folder, "carillon.yaml");
  writeFileSync(config, LOOPBACK_SETTINGS);
  const dataDir = join(folder, "data");
  const first = await runInit(dataDir);
  const daemon = await serveAppliance(dataDir, ["--config", config]);
  const zone = { group: `239.246.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`, port: 20_540 };
  const listener = await listenToSounds(zone);
  try {
    const api = createApiClient(daemon.url, first.token);
    const ring = await prepareRings(api, first, zone);
    const errors = async (name: string): Promise<number[]> => {
      const before = listener.heard().length;
      const moments = await ring(name);
      await pause((moments.at(-1) ?? 0) + EVERY_MS - Date.now());
      const heard = listener.heard().slice(before);
      if (heard.length !== RINGS) throw new Error(`${heard.length} of ${RINGS} rings were heard`);
      say(`${RINGS} rings, ${name}`);
      return heard.map(({ at }, place) => Math.abs(at - (moments[place] ?? 0)));
    };
    const idle = await errors("idle");
    const loadMs = AHEAD_MS + (RINGS + 1) * EVERY_MS;
    const headers = { authorization: `Bearer ${first.token}` };
    const users = `${daemon.url}/api/v1/users`;
    const load = Promise.all([
      measurePosts(users, headers, CLIENTS / 2, loadMs, (n) => ({ name: `User ${n}`, type: "anonymous" })),
      measureGets(`${users}?limit=100`, headers, CLIENTS / 2, loadMs),
    ]);
    const [loaded] = await Promise.all([errors("loaded"), load]);
    return { idle, loaded };
  } finally {
    listener.close();
    await daemon.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes a zone and a message; each call writes a schedule and answers its moments. */
async function prepareRings(
  api: ApiClient,
  { extensionId, endpointId }: InitOutput,
  zone: { group: string; port: number },
): Promise<(name: string) => Promise<number[]>> {
  const make = async (path: string, body: Record<string, unknown>): Promise<string> =>
    (await api.post<{ id: string }>(path, body)).id;
  const { icopId } = await api.post<{ icopId: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
    ...{ type: "speakers", deviceIdentifier: "zone:Hall", description: "Hall" },
    attributes: { Group: zone.group, Port: String(zone.port), Codec: "PCMU", TTL: "1" },
  });
  const group = await make("/device-groups", { name: "Hall", filterType: "REJECT", additionIds: [icopId] });
  const message = { name: "Bell", subject: "Bell", alertTone: "class-change1" };
  const messageTemplateId = await make("/message-templates", message);
  return async (name) => {
    const start = Math.ceil((Date.now() + AHEAD_MS) / 1_000) * 1_000;
    const moments = Array.from({ length: RINGS }, (_, n) => start + n * EVERY_MS);
    const texts = moments.map((at) => new Date(at).toISOString());
    const entries = texts.map((at) => ({ time: at.slice(11, 19), messageTemplateId, deviceGroupIds: [group] }));
    const ringListId = await make("/ring-lists", { name, entries });
    const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
    const [startDate] = texts.map((at) => at.slice(0, 10));
    const span = { startDate, endDate: startDate, timeZone: "Etc/UTC", numWeeks: 1 };
    await make("/bell-schedules", { name, ...span, bellScheduleEntries: days });
    return moments;
  };
}
