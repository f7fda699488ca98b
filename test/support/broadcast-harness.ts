import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import { type ApiClient, createApiClient, listAll } from "../../src/api-client/api-client.ts";
import { registerDevices } from "../../src/api-client/register-devices.ts";
import { LOOPBACK_SETTINGS, runInit, serveAppliance } from "./carillon-process.ts";
import { unusedPort } from "./free-port.ts";
import { type SimulatorReport, startTestSimulatorProcess, type TestSimulatorProcess } from "./simulator.ts";
import { makeTempDir } from "./temp-dir.ts";
import { eventually } from "./timeouts.ts";
import { sampleBytes, wavFile } from "./wav-file.ts";

/** A line of the ledger as the API shows it; times are ISO. */
export interface DeliveryLine {
  deviceIdentifier: string;
  type: string;
  level: string;
  reason: string | null;
  acceptedAt: string | null;
  playingAt: string | null;
  endedAt: string | null;
}

/** What a dead daemon left of a delivery; times are epoch ms. */
export interface PersistedDelivery {
  deviceIdentifier: string;
  type: string;
  level: string;
  acceptedAt: number | null;
  playingAt: number | null;
}

/** How many devices of each kind there are. */
export interface HarnessDevices {
  phones: number;
  zones: number;
  offline?: number;
  mute?: number;
}

/** A daemon and a campus, each in a process of its own, with all devices of the campus in one group. */
export interface BroadcastHarness {
  readonly campus: TestSimulatorProcess;
  /** Where the daemon that runs now is reached. */
  url(): string;
  /** Of the administrator. */
  readonly token: string;
  /** Of the daemon as it runs now. */
  api(): ApiClient;
  /** Sends to all devices; `seconds` is the length of the recording. */
  send(subject: string, seconds: number, more?: Record<string, string>): Promise<string>;
  /** Sends a text without sound to all devices. */
  sendText(subject: string): Promise<string>;
  deliveries(id: string): Promise<DeliveryLine[]>;
  /** Types of the diary's entries, with what they say. */
  activityLog(id: string): Promise<{ type: string; details: { message?: string } | null }[]>;
  /** Waits until the diary says that the broadcast is over, and gives the ledger. */
  waitUntilFinished(id: string): Promise<DeliveryLine[]>;
  /** Tells the campus what the message ought to have sounded like, and gives its report. */
  simulatorReport(id: string): Promise<SimulatorReport>;
  /** Kills the daemon and gives the rows of a message that it had committed, once no phone is busy with its last words. */
  kill(id: string): Promise<PersistedDelivery[]>;
  /** Changes the data of a killed daemon. */
  alter(sql: string, ...values: unknown[]): void;
  /** Starts the killed daemon again, on the same data and with the same settings. */
  restart(): Promise<void>;
  end(): Promise<void>;
  /** The last that the daemon has logged. */
  log(): string;
}

/** Time for what has been said already to be heard. */
const DRAIN_MS = 100;
const ROWS = `SELECT device_identifier AS deviceIdentifier, type, level, accepted_at AS acceptedAt, playing_at AS playingAt
  FROM deliveries WHERE notification_pk = (SELECT pk FROM notifications WHERE id = ?)`;

/** Starts everything; phones answer within `slowestMs`. */
export async function startBroadcastHarness(kinds: HarnessDevices, slowestMs: number): Promise<BroadcastHarness> {
  const dataDir = makeTempDir();
  const config = join(makeTempDir(), "carillon.yaml");
  const { token } = await runInit(dataDir);
  // Phones keep the address at which they ask, so the daemon must come back to it.
  writeFileSync(
    config,
    `${LOOPBACK_SETTINGS}plugins: {ip-phones: {listen: {auth: {host: 127.0.0.1, port: ${await unusedPort()}}}}}\n`,
  );
  let daemon = await serveAppliance(dataDir, ["--config", config]);
  let api = createApiClient(daemon.url, token);
  const authUrl = daemon.urls["ip-phones/auth"] ?? "";
  const options = { ...kinds, latency: `uniform:20:${slowestMs}`, seed: 5, "auth-url": authUrl };
  const campus = await startTestSimulatorProcess(
    Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
  );
  await registerDevices(api, campus.devices);
  const group = await groupOfAll(api);

  const ledger = (id: string): Promise<DeliveryLine[]> => listAll(api, `/notifications/${id}/devices`);
  const activityLog: BroadcastHarness["activityLog"] = (id) => listAll(api, `/notifications/${id}/activities`);
  return {
    campus,
    token,
    url: () => daemon.url,
    api: () => api,
    deliveries: ledger,
    activityLog,
    async send(subject, seconds, more = {}) {
      const form = new FormData();
      for (const [name, value] of Object.entries({ subject, ...more })) form.set(name, value);
      form.append("deviceGroupIds[]", group);
      form.set("audio", new Blob([frequencySweep(seconds)], { type: "audio/wav" }), "sweep.wav");
      return (await api.post<{ id: string }>("/notifications", form)).id;
    },
    sendText: async (subject) =>
      (await api.post<{ id: string }>("/notifications", { subject, deviceGroupIds: [group] })).id,
    async waitUntilFinished(id) {
      await eventually(async () => (await activityLog(id)).some(({ type }) => type === "broadcast-finished"));
      return ledger(id);
    },
    async simulatorReport(id) {
      await campus.setExpectedAudio(await api.download(`/notifications/${id}/audio?form=programme`));
      return campus.report();
    },
    async kill(id) {
      await daemon.end("SIGKILL");
      // Phones still do what they were told before.
      await pause(slowestMs + DRAIN_MS);
      return readPersisted(dataDir, id);
    },
    alter(sql, ...values) {
      const database = new Database(join(dataDir, "carillon.db"));
      database.prepare(sql).run(...values);
      database.close();
    },
    async restart() {
      daemon = await serveAppliance(dataDir, ["--config", config]);
      api = createApiClient(daemon.url, token);
    },
    log: () => daemon.log(),
    async end() {
      await daemon.end("SIGTERM");
      await campus.end("SIGTERM");
    },
  };
}

async function groupOfAll(api: ApiClient): Promise<string> {
  const filters = ["phones", "speakers"].map((value) => ({
    attribute: "ServiceDeviceType",
    comparison: "EQUALS",
    value,
  }));
  const body = { name: "Everywhere", filterType: "OR", filters };
  return (await api.post<{ id: string }>("/device-groups", body)).id;
}

/** Reads a copy: to open the data itself would already repair it. */
function readPersisted(dataDir: string, id: string): PersistedDelivery[] {
  const copy = makeTempDir();
  for (const name of readdirSync(dataDir)) {
    if (/^carillon\.db(-wal)?$/.test(name)) copyFileSync(join(dataDir, name), join(copy, name));
  }
  const database = new Database(join(copy, "carillon.db"));
  try {
    return database.prepare(ROWS).all(id) as PersistedDelivery[];
  } finally {
    database.close();
  }
}

/** A tone that rises all the time, so that no two packets are equal: 8 kHz, 16 bit, mono. */
function frequencySweep(seconds: number): Uint8Array<ArrayBuffer> {
  const samples = new Float32Array(seconds * 8_000);
  let phase = 0;
  for (let i = 0; i < samples.length; i++) {
    phase += (2 * Math.PI * (200 + (2_000 * i) / samples.length)) / 8_000;
    samples[i] = 0.3 * Math.sin(phase);
  }
  return new Uint8Array(wavFile({ rateHz: 8_000, channels: 1, bits: 16 }, sampleBytes(samples, 16)));
}
