import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiBody, ApiClient, ApiPage } from "../../api-client/api-client.ts";
import { type DeliveryStatusRow, followDeliveries } from "../../api-client/follow-deliveries.ts";
import { EXIT } from "../../cli/exit-codes.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { systemClock } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { initAppliance } from "../../wiring/init.ts";
import { type SimulatorProcess, startSimulatorProcess } from "../simulator-process.ts";
import { type DaemonReady, startDaemonProcess } from "./daemon-process.ts";
import type { DemoExpectation, SimulatorReport } from "./demo-results.ts";

const LATENCY = "uniform:20:200";
const SEED = 7;

/** What the demo may use. */
export interface DemoDeps {
  terminal: Terminal;
  /** Aborts at SIGTERM and Ctrl-C. */
  signal: AbortSignal;
  /** Seconds since the demo began. */
  elapsed(): number;
  /** Takes what has to be ended when the demo is over, in reverse order. */
  onCleanup(end: () => Promise<unknown>): void;
}

/** Who may log in to the demo's console. */
export interface DemoAdministrator {
  email: string;
  password: string;
}

/** An appliance of its own with one administrator, in a folder that is removed at the end. */
export async function startDemoAppliance(
  needs: DemoDeps,
): Promise<{ ready: DaemonReady; token: string; admin: DemoAdministrator }> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-demo-"));
  needs.onCleanup(async () => rmSync(folder, { recursive: true, force: true }));
  printProgress(needs, `setting up an appliance in ${folder}`);
  const admin = { email: "principal@school.example", password: randomBytes(18).toString("base64url") };
  const { token } = await initAppliance(join(folder, "data"), admin, systemClock);
  const daemon = await startDaemonProcess(folder);
  needs.onCleanup(async () => {
    daemon.stop();
    await daemon.ended;
  });
  printProgress(needs, `the appliance serves ${daemon.ready.url}`);
  return { ready: daemon.ready, token, admin };
}

/** A campus of so many devices, which ask the appliance whom to obey; `flags` are further ones of its command line. */
export async function startDemoSimulator(
  needs: DemoDeps,
  { urls }: DaemonReady,
  { phones, offline, zones }: DemoExpectation,
  ...flags: string[]
): Promise<SimulatorProcess> {
  const counts = { phones, offline, zones, latency: LATENCY, seed: SEED, "auth-url": urls["ip-phones/auth"] ?? "" };
  const args = Object.entries(counts).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const campus = await startSimulatorProcess([...args, ...flags], () => undefined);
  if (typeof campus === "number") throw new UpstreamError("upstream", `The campus ended with code ${campus}.`);
  needs.onCleanup(async () => {
    campus.stop();
    await campus.ended;
  });
  return campus;
}

/** Sends, waits until the ledger rests, and asks the campus what came; `sentAt` is the moment of the request, epoch ms. */
export async function sendAndFollow(
  needs: DemoDeps,
  api: ApiClient,
  campus: SimulatorProcess,
  message: ApiBody,
  isDone = ({ endedAt }: DeliveryStatusRow): boolean => endedAt !== null,
) {
  const sentAt = systemClock.now();
  const notification = await api.post<{ id: string }>("/notifications", message);
  const onProgress = (counts: string): void => printProgress(needs, counts);
  const following = { clock: systemClock, signal: needs.signal, onProgress, isDone };
  const ledger = await followDeliveries(api, notification.id, following);
  const programme = await api.download(`/notifications/${notification.id}/audio?form=programme`);
  const account = await readSimulatorReport(campus.ready.control, programme);
  return { ledger, account, sentAt };
}

/** Tells the campus what ought to have been heard, and asks what was. */
async function readSimulatorReport(control: string, programme: Uint8Array): Promise<SimulatorReport> {
  await sendToSimulator(control, "programme", new Uint8Array(programme));
  const answer = await fetch(`${control}/report`);
  if (!answer.ok) throw new UpstreamError("upstream", "The campus gives no report.");
  return (await answer.json()) as SimulatorReport;
}

/** Posts to a path of the campus's remote control; UpstreamError unless it takes it. */
export async function sendToSimulator(control: string, path: string, body: NonNullable<RequestInit["body"]>): Promise<void> {
  const told = await fetch(`${control}/${path}`, { method: "POST", body });
  if (!told.ok) throw new UpstreamError("upstream", `The campus does not take ${path}.`);
}

/** Id of a device group. */
export async function firstDeviceGroupId(api: ApiClient): Promise<string> {
  const { data } = await api.get<ApiPage<{ id: string }>>("/device-groups?limit=1");
  return data[0]?.id ?? "";
}

/** Says how to go on by hand. */
export function printInstructions(
  { out }: Terminal,
  { url }: DaemonReady,
  { token, admin, groupId }: { token: string; admin: DemoAdministrator; groupId: string },
  campus: SimulatorProcess,
): void {
  out(`Console  ${url}/  (${admin.email}, password ${admin.password})`);
  out(`API      ${url}/api/v1`);
  out(`Token    ${token}`);
  out(`Campus   ${campus.ready.control}/report`);
  out("Try:");
  out(`  curl -H 'Authorization: Bearer ${token}' '${url}/api/v1/notifications'`);
  out(`  curl -H 'Authorization: Bearer ${token}' '${url}/api/v1/message-templates'`);
  out(`  curl -H 'Authorization: Bearer ${token}' -d 'subject=Hello' -d 'alertTone=bell' \\`);
  out(`       -d 'deviceGroupIds[]=${groupId}' '${url}/api/v1/notifications'`);
  out("Ctrl-C ends the appliance and the campus and removes their data.");
}

/** Waits for the end unless it is to come at once, and gives the exit code. */
export async function finishDemo({ signal }: DemoDeps, once: boolean, isWell: boolean): Promise<number> {
  if (!once) await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return isWell ? EXIT.ok : EXIT.failure;
}

/** One line of progress, with the seconds since the demo began. */
export function printProgress({ terminal, elapsed }: DemoDeps, words: string): void {
  terminal.err(`${elapsed().toFixed(1).padStart(5)} s  ${words}`);
}
