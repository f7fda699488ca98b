import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiBody, ApiClient, ApiPage } from "../../api-client/api-client.ts";
import { type DeliveryStatusRow, followDeliveries } from "../../api-client/follow-deliveries.ts";
import { systemClock } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { initAppliance } from "../../wiring/init.ts";
import { type SimulatorProcess, startSimulatorProcess } from "../simulator-process.ts";
import { type DaemonReady, startDaemonProcess } from "./daemon-process.ts";
import type { DemoExpectation, DemoReport } from "./demo-results.ts";

const LATENCY = "uniform:20:200";
const SEED = 7;

/** Environment of a demo. */
export interface DemoDeps {
  terminal: Terminal;
  /** Aborts at SIGTERM and Ctrl-C. */
  signal: AbortSignal;
  /** Seconds since the start of the demo. */
  elapsed(): number;
  /** Registers a cleanup; cleanups run in reverse order at the end. */
  onCleanup(cleanup: () => Promise<unknown>): void;
}

/** Credentials for the demo's console. */
export interface DemoAdministrator {
  email: string;
  password: string;
}

/** Starts a new appliance with one administrator, in a folder that is deleted at the end. */
export async function startDemoAppliance(
  deps: DemoDeps,
): Promise<{ ready: DaemonReady; token: string; admin: DemoAdministrator }> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-demo-"));
  deps.onCleanup(async () => rmSync(folder, { recursive: true, force: true }));
  printProgress(deps, `setting up an appliance in ${folder}`);
  const admin = { email: "principal@school.example", password: randomBytes(18).toString("base64url") };
  const { token } = await initAppliance(join(folder, "data"), admin, systemClock);
  const daemon = await startDaemonProcess(folder);
  deps.onCleanup(async () => {
    daemon.stop();
    await daemon.ended;
  });
  printProgress(deps, `the appliance runs at ${daemon.ready.url}`);
  return { ready: daemon.ready, token, admin };
}

/** Starts a simulator whose phones authenticate pushes at the appliance; `flags`: further command line options. */
export async function startDemoSimulator(
  deps: DemoDeps,
  { urls }: DaemonReady,
  { phones, offline, zones }: DemoExpectation,
  ...flags: string[]
): Promise<SimulatorProcess> {
  const counts = { phones, offline, zones, latency: LATENCY, seed: SEED, "auth-url": urls["ip-phones/auth"] ?? "" };
  const args = Object.entries(counts).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const simulator = await startSimulatorProcess([...args, ...flags], () => undefined);
  if (typeof simulator === "number")
    throw new UpstreamError("upstream", `The simulator exited with code ${simulator}.`);
  deps.onCleanup(async () => {
    simulator.stop();
    await simulator.ended;
  });
  return simulator;
}

/** Sends the message, waits until all deliveries are done, and reads the simulator's report; `sentAt`: epoch ms of the request. */
export async function sendAndFollow(
  deps: DemoDeps,
  api: ApiClient,
  simulator: SimulatorProcess,
  message: ApiBody,
  isDone = ({ endedAt }: DeliveryStatusRow): boolean => endedAt !== null,
) {
  const sentAt = systemClock.now();
  const notification = await api.post<{ id: string }>("/notifications", message);
  const onProgress = (counts: string): void => printProgress(deps, counts);
  const following = { clock: systemClock, signal: deps.signal, onProgress, isDone };
  const ledger = await followDeliveries(api, notification.id, following);
  const programme = await api.download(`/notifications/${notification.id}/audio?form=programme`);
  const report = await readSimulatorReport(simulator.ready.control, programme);
  return { ledger, account: report, sentAt };
}

/** Sends the expected audio to the simulator and reads its report. */
async function readSimulatorReport(control: string, programme: Uint8Array): Promise<DemoReport> {
  await sendToSimulator(control, "programme", new Uint8Array(programme));
  const response = await fetch(`${control}/report`);
  if (!response.ok) throw new UpstreamError("upstream", "The simulator returned no report.");
  return (await response.json()) as DemoReport;
}

/** Posts to the simulator's control server; UpstreamError unless it succeeds. */
export async function sendToSimulator(
  control: string,
  path: string,
  body: NonNullable<RequestInit["body"]>,
): Promise<void> {
  const response = await fetch(`${control}/${path}`, { method: "POST", body });
  if (!response.ok) throw new UpstreamError("upstream", `The simulator rejected ${path}.`);
}

/** Id of the first device group. */
export async function firstDeviceGroupId(api: ApiClient): Promise<string> {
  const { data } = await api.get<ApiPage<{ id: string }>>("/device-groups?limit=1");
  return data[0]?.id ?? "";
}

/** Prints how to explore the demo. */
export function printInstructions(
  { out }: Terminal,
  { url }: DaemonReady,
  { token, admin, groupId }: { token: string; admin: DemoAdministrator; groupId: string },
  simulator: SimulatorProcess,
): void {
  out(`Console  ${url}/  (${admin.email}, password ${admin.password})`);
  out(`API      ${url}/api/v1`);
  out(`Token    ${token}`);
  out(`Report   ${simulator.ready.control}/report`);
  out("");
  out("Three things to do next:");
  out("  1. Open the console and log in. History shows who got the message, and why three phones did not.");
  out("  2. In the console, look at the bells of today, and hold the button of the lockdown for two seconds.");
  out("  3. Send a message by the API:");
  out(`     curl -H 'Authorization: Bearer ${token}' -d 'subject=Hello' -d 'alertTone=bell' \\`);
  out(`       -d 'deviceGroupIds[]=${groupId}' '${url}/api/v1/notifications'`);
  out("Ctrl-C stops the appliance and the simulator and deletes their data.");
}

/** Waits for Ctrl-C unless `once`; returns the exit code. */
export async function finishDemo({ signal }: DemoDeps, once: boolean, isSuccess: boolean): Promise<number> {
  if (!once) await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return isSuccess ? EXIT.ok : EXIT.failure;
}

/** Prints one line of progress with the seconds since the start of the demo. */
export function printProgress({ terminal, elapsed }: DemoDeps, text: string): void {
  terminal.err(`${elapsed().toFixed(1).padStart(5)} s  ${text}`);
}
