import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { workerEntry } from "../../src/lib/worker-entry.ts";
import { DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import type { PhoneReport, SimulatorReport } from "../../src/tools/simulator/report.ts";

const BETWEEN_REPORTS_MS = 20;

/** A device as the campus describes it. */
export interface SimulatorDevice {
  type: string;
  deviceIdentifier: string;
  description: string;
  attributes: Record<string, string>;
}

/** A campus in a process of its own. */
export interface SpawnedSimulator {
  readonly devices: readonly SimulatorDevice[];
  report(): Promise<SimulatorReport>;
  phone(deviceIdentifier: string): Promise<PhoneReport>;
  /** Asks for the report again and again until `done` likes it. */
  until(done: (report: SimulatorReport) => boolean): Promise<SimulatorReport>;
  /** Remote control: POSTs `body` to the path. */
  order(path: string, body: unknown): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a campus with the given command line. */
export async function spawnSimulator(...args: string[]): Promise<SpawnedSimulator> {
  const program = workerEntry(import.meta.url, "../../src/tools/simulator/main").pathname;
  const child = spawn(process.execPath, ["--enable-source-maps", program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const ready = await new Promise<{ control: string; devices: SimulatorDevice[] }>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line)));
    void ended.then(() => reject(new Error("the campus ended before it was ready")));
  });
  const report = async (): Promise<SimulatorReport> =>
    (await (await fetch(`${ready.control}/report`)).json()) as SimulatorReport;
  return {
    devices: ready.devices,
    report,
    async phone(deviceIdentifier) {
      const found = (await report()).phones.find((phone) => phone.deviceIdentifier === deviceIdentifier);
      if (!found) throw new Error(`the campus has no phone ${deviceIdentifier}`);
      return found;
    },
    async until(done) {
      for (;;) {
        const seen = await report();
        if (done(seen)) return seen;
        // A report costs the campus time that its phones need.
        await pause(BETWEEN_REPORTS_MS);
      }
    },
    async order(path, body) {
      const answer = await fetch(`${ready.control}${path}`, { method: "POST", body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    },
    stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** A delivery to a campus device; `changes` replace what is usual. */
export function deliveryTo(
  device: SimulatorDevice,
  deliveryId: number,
  changes: Partial<DeliveryItem> = {},
): DeliveryItem {
  const { deviceIdentifier, attributes } = device;
  return {
    deliveryId,
    notificationId: "0198f3a0-0000-7000-8000-000000000001",
    device: { id: `0198f3a0-0000-7000-8000-${String(deliveryId).padStart(12, "0")}`, deviceIdentifier, attributes },
    priority: 5,
    class: "routine",
    notAfter: Number.MAX_SAFE_INTEGER,
    sentAt: 0,
    expiresAt: null,
    drill: false,
    text: { subject: "Fire drill", body: "Leave by the nearest exit.", short: "Leave now" },
    imagePath: null,
    audio: null,
    profile: DEFAULT_PROFILE,
    settings: {},
    attempt: 1,
    ...changes,
  };
}
