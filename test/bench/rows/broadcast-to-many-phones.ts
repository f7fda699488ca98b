import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import {
  type InitOutput,
  LOOPBACK_SETTINGS,
  type RunningSimulator,
  runInit,
  serveAppliance,
  spawnSimulatorProcess,
} from "../../support/carillon-process.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median, percentile } from "../benchmark-row.ts";
import { type BenchmarkApi, createBenchmarkApi } from "./measured-api.ts";

const ROUNDS = 3;
const SIZES = [
  { phones: 1_000, goalMs: 2_000 },
  { phones: 10_000, goalMs: 10_000 },
];
const LATENCY = "lognormal:60:5:2000";
const REGISTER_AT_ONCE = 32;
const REPETITIONS = 10;
/** Sizes of the groups whose times are foretold. */
const PARTS = [10, 100, 1_000];

interface Foretold {
  expectedSeconds: number;
  tookSeconds: number;
}

/** Row 8: from the POST until 99 % of the phones are proven to play, through the whole pipeline. */
export const broadcastToManyPhones: BenchmarkRow = {
  number: 8,
  name: "broadcast to campus phones, whole pipeline",
  async measure(say) {
    const figures: BenchmarkFigure[] = [];
    for (const { phones, goalMs } of SIZES) {
      const { times, foretold } = await measureSize(phones, (text) => say(`${phones} phones: ${text}`));
      const what = `${phones.toLocaleString("en")} phones answering in ${LATENCY} ms, 99 % playing`;
      figures.push(atMost({ what, ours: median(times), limit: goalMs, against: "fixed", unit: "ms" }, 1));
      if (foretold.length > 0) figures.push(errorOf(foretold));
    }
    return figures;
  },
};

/** How far what was foretold was from what came, both in s from the send to the last word of a device. */
function errorOf(foretold: readonly Foretold[]): BenchmarkFigure {
  const ours = median(foretold.map(({ expectedSeconds, tookSeconds }) => Math.abs(expectedSeconds - tookSeconds)));
  const what = `how long sends to ${PARTS.join(", ")} phones in turn were foretold to take: error`;
  const limit = median(foretold.map(({ tookSeconds }) => tookSeconds));
  return atMost({ what, ours, limit, against: "what they took", unit: "s" }, 0.25);
}

async function measureSize(
  phones: number,
  say: (text: string) => void,
): Promise<{ times: number[]; foretold: Foretold[] }> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const settings = join(folder, "carillon.yaml");
  writeFileSync(settings, `${LOOPBACK_SETTINGS}log: {level: warn}\n`);
  const made = await runInit(join(folder, "data"));
  const daemon = await serveAppliance(join(folder, "data"), ["--config", settings]);
  const campus = await spawnSimulatorProcess([
    ...["--phones", String(phones), "--zones", "0", "--latency", LATENCY],
    ...["--auth-url", daemon.urls["ip-phones/auth"] as string],
  ]);
  try {
    const api = createBenchmarkApi(daemon.url, made.token);
    await register(api, made, campus);
    say("registered");
    const group = await api("POST", "device-groups", { name: "All", filters: [], filterType: "ACCEPT" });
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      times.push(await broadcast(api, String(group.id), phones, say));
      say(`round ${round + 1} of ${ROUNDS}: ${Math.round(times[round] as number)} ms`);
    }
    const foretold = phones === PARTS.at(-1) ? await foretell(api, say) : [];
    return { times, foretold };
  } finally {
    await daemon.end("SIGTERM");
    await campus.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sends one broadcast; ms from the POST until 99 % of all phones were playing, by the ledger's own times. */
async function broadcast(
  api: BenchmarkApi,
  deviceGroupId: string,
  phones: number,
  say: (text: string) => void,
): Promise<number> {
  const sentAt = Date.now();
  // Heard long enough that the last phone can still join.
  const extensionSettingsOverrides = { [ONPREM_EXTENSION_ID]: { repetitions: REPETITIONS } };
  const message = { subject: "Bench", body: "A message to all", alertTone: "chime" };
  const body = { ...message, deviceGroupIds: [deviceGroupId], extensionSettingsOverrides };
  const { id } = await api("POST", "notifications", body);
  for (;;) {
    await pause(500);
    const notification = await api("GET", `notifications/${id}`);
    const progress = notification.progress as { percentComplete?: number } | null;
    if (progress?.percentComplete === 100) break;
  }
  const playing: number[] = [];
  let next = "";
  do {
    const page = await api("GET", `notifications/${id}/devices?limit=1000&include-total=false${next}`);
    for (const row of page.data as { playingAt: string | null }[]) {
      playing.push(row.playingAt === null ? Number.POSITIVE_INFINITY : Date.parse(row.playingAt) - sentAt);
    }
    next = page.next ? `&start=${encodeURIComponent(page.next as string)}` : "";
  } while (next !== "");
  if (playing.length !== phones) throw new Error(`the ledger has ${playing.length} rows`);
  const silent = playing.filter((ms) => ms === Number.POSITIVE_INFINITY).length;
  if (silent > 0) say(`${silent} of ${phones} phones never proved to play`);
  return percentile(playing, 99);
}

/** Sends to groups of all sizes in turn; what was foretold of each, once each size had been sent to. */
async function foretell(api: BenchmarkApi, say: (text: string) => void): Promise<Foretold[]> {
  const { data } = await api("GET", "devices?limit=1000");
  const ids = (data as { id: string }[]).map(({ id }) => id);
  const results: Foretold[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const size of PARTS) {
      const message = { subject: "Bench", body: "A message to some", alertTone: "chime" };
      const { id } = await api("POST", "notifications", { ...message, additionalDeviceIds: ids.slice(0, size) });
      for (let took = null; took === null; ) {
        await pause(500);
        const seconds = (await api("GET", `notifications/${id}/progress`)) as unknown as Foretold;
        took = seconds.tookSeconds;
        if (took !== null && round > 0) results.push(seconds);
      }
    }
    say(`foretold round ${round} of ${ROUNDS}`);
  }
  return results;
}

async function register(api: BenchmarkApi, made: InitOutput, campus: RunningSimulator): Promise<void> {
  const path = `extensions/${made.extensionId}/endpoints/${made.endpointId}/devices`;
  const waiting = [...campus.devices];
  const client = async (): Promise<void> => {
    for (let device = waiting.pop(); device; device = waiting.pop()) await api("POST", path, device);
  };
  await Promise.all(Array.from({ length: REGISTER_AT_ONCE }, client));
  const { data } = await api("GET", "extensions?limit=1000");
  const phones = (data as { id: string; name: string }[]).find((extension) => extension.name === "ip-phones");
  await api("PUT", `extensions/${phones?.id}`, { config: { pushUser: "push", pushPassword: "push" } });
}
