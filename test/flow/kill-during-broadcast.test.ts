import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createApiClient, listAll } from "../../src/cli/api-client.ts";
import { registerDevices } from "../../src/cli/register-devices.ts";
import { startTestCampus, type TestCampus } from "../support/campus.ts";
import { type Initialised, initialise, type RunningDaemon, serve } from "../support/product.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { sampleBytes, wavFile } from "../support/wav-file.ts";

const PHONES = 200;
const OFFLINE = 5;
const RECORDING_MS = 15_000;

interface Delivery {
  deviceIdentifier: string;
  level: string;
  reason: string | null;
  playingAt: string | null;
  endedAt: string | null;
}

let data: string;
let config: string;
let first: Initialised;
let daemon: RunningDaemon;
let campus: TestCampus;

beforeAll(async () => {
  data = makeTempDir();
  config = join(data, "carillon.yaml");
  first = await initialise(data);
  // Phones must find the authentication address again after the restart.
  const port = await freePort();
  writeFileSync(
    config,
    `network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}
plugins: {ip-phones: {listen: {auth: {host: 127.0.0.1, port: ${port}}}}}\n`,
  );
  daemon = await serve(data, ["--config", config]);
  const args = { phones: PHONES, offline: OFFLINE, latency: "uniform:50:1500", seed: 3 };
  const authUrl = daemon.urls["ip-phones/auth"] as string;
  const words = Object.entries(args).flatMap(([name, value]) => [`--${name}`, String(value)]);
  campus = await startTestCampus([...words, "--auth-url", authUrl]);
});
afterAll(async () => {
  await campus.end("SIGTERM");
  await daemon.end("SIGTERM");
});

it("brings every phone to one end when the daemon is killed meanwhile, and asks none again that was proven to play", {
  timeout: 90_000,
}, async () => {
  const before = createApiClient(daemon.url, first.token);
  await registerDevices(before, campus.devices as Parameters<typeof registerDevices>[1]);
  const notification = await send(before);
  const ledger = (api: typeof before): Promise<Delivery[]> => listAll(api, `/notifications/${notification.id}/devices`);
  // Some play, others have not even been asked.
  await until(async () => (await ledger(before)).filter(({ level }) => level === "playing").length >= PHONES / 4);
  await daemon.end("SIGKILL");
  const killedAt = new Date().toISOString();
  const atKill = new Map((await campus.report()).phones.map((phone) => [phone.deviceIdentifier, phone]));

  daemon = await serve(data, ["--config", config]);
  const api = createApiClient(daemon.url, first.token);
  await until(async () => (await ledger(api)).every(({ endedAt }) => endedAt !== null));

  const rows = await ledger(api);
  expect(rows).toHaveLength(PHONES);
  const failed = rows.filter(({ level }) => level === "failed");
  expect(failed).toHaveLength(OFFLINE);
  for (const { reason } of failed) expect(reason).toMatch(/\w+ \w+/);
  expect(rows.filter(({ level }) => level !== "failed" && level !== "playing")).toEqual([]);

  const provenBefore = rows.filter(({ playingAt }) => playingAt !== null && playingAt < killedAt);
  expect(provenBefore.length).toBeGreaterThanOrEqual(PHONES / 4);
  expect(provenBefore.length).toBeLessThan(PHONES - OFFLINE);
  const atEnd = new Map((await campus.report()).phones.map((phone) => [phone.deviceIdentifier, phone]));
  for (const { deviceIdentifier } of provenBefore) {
    const [was, is] = [atKill.get(deviceIdentifier), atEnd.get(deviceIdentifier)];
    expect([is?.joinedAt, is?.earlier, is?.errors]).toEqual([was?.joinedAt, was?.earlier, was?.errors]);
  }
});

async function send(api: ReturnType<typeof createApiClient>): Promise<{ id: string }> {
  const filters = [{ attribute: "ServiceDeviceType", comparison: "EQUALS", value: "phones" }];
  const group = await api.post<{ id: string }>("/device-groups", { name: "Phones", filterType: "AND", filters });
  const form = new FormData();
  form.set("subject", "A long message");
  form.append("deviceGroupIds[]", group.id);
  form.set("audio", new Blob([recording()], { type: "audio/wav" }), "long.wav");
  return api.post("/notifications", form);
}

/** A low hum, long enough for the daemon to be killed and be back. */
function recording(): Uint8Array<ArrayBuffer> {
  const samples = Float32Array.from({ length: RECORDING_MS * 8 }, (_, i) => 0.3 * Math.sin(i / 6));
  return new Uint8Array(wavFile({ rateHz: 8_000, channels: 1, bits: 16 }, sampleBytes(samples, 16)));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100));
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
