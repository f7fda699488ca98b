import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import {
  LOOPBACK_SETTINGS,
  type RunningSimulator,
  runInit,
  serveAppliance,
  spawnSimulatorProcess,
} from "../../support/carillon-process.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";
import { type BenchmarkApi, createBenchmarkApi } from "./measured-api.ts";

const ROUNDS = 5;
const SPEAKERS = 50;
const JOIN_SECRET = "sixteen characters and more";
/** @source service goal: speakers of one kind are heard as one */
const GOAL_MS = 20;

/** Row 16: how far apart speakers of one kind begin, as they say themselves, over the whole way of a message. */
export const speakerSkew: BenchmarkRow = {
  number: 16,
  name: "speakers of one kind begin together",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const settings = join(folder, "carillon.yaml");
    writeFileSync(settings, LOOPBACK_SETTINGS);
    const made = await runInit(join(folder, "data"));
    const daemon = await serveAppliance(join(folder, "data"), ["--config", settings]);
    const campus = await spawnSimulatorProcess(["--phones", "0", "--zones", "0"]);
    try {
      const api = createBenchmarkApi(daemon.url, made.token);
      await register(api, daemon.url, campus);
      const group = await api("POST", "device-groups", { name: "All", filters: [], filterType: "ACCEPT" });
      const rounds: Spread[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        rounds.push(await page(api, String(group.id)));
        say(`round ${round + 1} of ${ROUNDS}: ${JSON.stringify(rounds[round])}`);
      }
      return figuresOf(rounds);
    } finally {
      await daemon.end("SIGTERM");
      await campus.end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Start {
  afterMs: number | null;
  late: boolean;
}

interface Spread {
  allMs: number;
  maxMs: number;
  onTime: number;
}

function figuresOf(rounds: readonly Spread[]): BenchmarkFigure[] {
  const what = `${SPEAKERS} speakers of one kind, first to last`;
  const common = { limit: GOAL_MS, against: "fixed", unit: "ms" };
  return [
    atMost({ what, ours: median(rounds.map(({ allMs }) => allMs)), ...common }, 1),
    atMost({ what: `${what}, nine of ten`, ours: median(rounds.map(({ maxMs }) => maxMs)), ...common }, 1),
  ];
}

/** Sends a page and waits until every speaker has said when it began. */
async function page(api: BenchmarkApi, deviceGroupId: string): Promise<Spread> {
  // Heard long enough that the last speaker has told before the sound is over.
  const extensionSettingsOverrides = { [ONPREM_EXTENSION_ID]: { repetitions: 8 } };
  const message = { subject: "Bench", alertTone: "chime", deviceGroupIds: [deviceGroupId], extensionSettingsOverrides };
  const { id } = await api("POST", "notifications", message);
  for (let tries = 0; tries < 30; tries++) {
    await pause(500);
    const { data } = (await api("GET", `notifications/${id}/starts`)) as { data: Start[] };
    if (data.length < SPEAKERS) continue;
    // Whoever joins late is heard at the place where the others are, so when it began says nothing of it.
    const after = data.flatMap(({ afterMs, late }) => (late ? [] : (afterMs ?? []))).sort((a, b) => a - b);
    const at = (part: number): number => after[Math.round((after.length - 1) * part)] ?? Number.NaN;
    await api("POST", `notifications/${id}/activities`, { type: "abort" });
    await pause(1_000);
    return { allMs: round(at(1) - at(0)), maxMs: round(at(0.95) - at(0.05)), onTime: after.length };
  }
  const devices = await api("GET", `notifications/${id}/devices?limit=3`);
  throw new Error(`not every speaker said when it began: ${JSON.stringify(devices)}`);
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}

async function register(api: BenchmarkApi, url: string, campus: RunningSimulator): Promise<void> {
  const { data } = (await api("GET", "extensions?limit=1000")) as { data: { id: string; name: string }[] };
  const speakers = data.find(({ name }) => name === "speakers");
  await api("PUT", `extensions/${speakers?.id}`, { config: { joinSecret: JOIN_SECRET }, disabled: false });
  await pause(2_000);
  const order = { url, joinSecret: JOIN_SECRET, count: SPEAKERS };
  const headers = { "content-type": "application/json" };
  await fetch(`${campus.control}/agents`, { method: "POST", headers, body: JSON.stringify(order) });
  for (let total = 0; total < SPEAKERS; ) {
    await pause(500);
    total = ((await api("GET", "devices?limit=1&type=speakers")) as { total: number }).total;
  }
  await pause(2_000);
}
