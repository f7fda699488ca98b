import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initAppliance } from "../../app/init.ts";
import { systemClock } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import type { ApiBody, ApiClient, ApiPage } from "../api-client.ts";
import { type CampusProcess, startCampusProcess } from "../campus-process.ts";
import { EXIT } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import { type DaemonReady, startDaemonProcess } from "./daemon-process.ts";
import { followLedger, type LedgerLine } from "./follow.ts";
import type { CampusAccount, Expected } from "./outcome.ts";

const LATENCY = "uniform:20:200";
const SEED = 7;

/** What the demo may use. */
export interface DemoNeeds {
  terminal: Terminal;
  /** Aborts at SIGTERM and Ctrl-C. */
  signal: AbortSignal;
  /** Seconds since the demo began. */
  elapsed(): number;
  /** Takes what has to be ended when the demo is over, in reverse order. */
  atEnd(end: () => Promise<unknown>): void;
}

/** Who may log in to the demo's console. */
export interface Admin {
  email: string;
  password: string;
}

/** An appliance of its own with one administrator, in a folder that is removed at the end. */
export async function startAppliance(needs: DemoNeeds): Promise<{ ready: DaemonReady; token: string; admin: Admin }> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-demo-"));
  needs.atEnd(async () => rmSync(folder, { recursive: true, force: true }));
  say(needs, `setting up an appliance in ${folder}`);
  const admin = { email: "principal@school.example", password: randomBytes(18).toString("base64url") };
  const { token } = await initAppliance(join(folder, "data"), admin, systemClock);
  const daemon = await startDaemonProcess(folder);
  needs.atEnd(async () => {
    daemon.stop();
    await daemon.ended;
  });
  say(needs, `the appliance serves ${daemon.ready.url}`);
  return { ready: daemon.ready, token, admin };
}

/** A campus of so many devices, which ask the appliance whom to obey; `flags` are further ones of its command line. */
export async function startCampus(
  needs: DemoNeeds,
  { urls }: DaemonReady,
  { phones, offline, zones }: Expected,
  ...flags: string[]
): Promise<CampusProcess> {
  const counts = { phones, offline, zones, latency: LATENCY, seed: SEED, "auth-url": urls["ip-phones/auth"] ?? "" };
  const args = Object.entries(counts).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const campus = await startCampusProcess([...args, ...flags], () => undefined);
  if (typeof campus === "number") throw new UpstreamError("upstream", `The campus ended with code ${campus}.`);
  needs.atEnd(async () => {
    campus.stop();
    await campus.ended;
  });
  return campus;
}

/** Sends, waits until the ledger rests, and asks the campus what came; `sentAt` is the moment of the request, epoch ms. */
export async function sendAndFollow(
  needs: DemoNeeds,
  api: ApiClient,
  campus: CampusProcess,
  message: ApiBody,
  isDone = ({ endedAt }: LedgerLine): boolean => endedAt !== null,
) {
  const sentAt = systemClock.now();
  const notification = await api.post<{ id: string }>("/notifications", message);
  const onProgress = (counts: string): void => say(needs, counts);
  const following = { clock: systemClock, signal: needs.signal, onProgress, isDone };
  const ledger = await followLedger(api, notification.id, following);
  const programme = await api.bytes(`/notifications/${notification.id}/audio?form=programme`);
  const account = await askCampus(campus.ready.control, programme);
  return { ledger, account, sentAt };
}

/** Tells the campus what ought to have been heard, and asks what was. */
async function askCampus(control: string, programme: Uint8Array): Promise<CampusAccount> {
  await tellCampus(control, "programme", new Uint8Array(programme));
  const answer = await fetch(`${control}/report`);
  if (!answer.ok) throw new UpstreamError("upstream", "The campus gives no report.");
  return (await answer.json()) as CampusAccount;
}

/** Posts to a path of the campus's remote control; UpstreamError unless it takes it. */
export async function tellCampus(control: string, path: string, body: NonNullable<RequestInit["body"]>): Promise<void> {
  const told = await fetch(`${control}/${path}`, { method: "POST", body });
  if (!told.ok) throw new UpstreamError("upstream", `The campus does not take ${path}.`);
}

/** Id of a device group. */
export async function firstGroup(api: ApiClient): Promise<string> {
  const { data } = await api.get<ApiPage<{ id: string }>>("/device-groups?limit=1");
  return data[0]?.id ?? "";
}

/** Says how to go on by hand. */
export function explain(
  { out }: Terminal,
  { url }: DaemonReady,
  { token, admin, groupId }: { token: string; admin: Admin; groupId: string },
  campus: CampusProcess,
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
export async function end({ signal }: DemoNeeds, once: boolean, isWell: boolean): Promise<number> {
  if (!once) await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return isWell ? EXIT.ok : EXIT.failure;
}

/** One line of progress, with the seconds since the demo began. */
export function say({ terminal, elapsed }: DemoNeeds, words: string): void {
  terminal.err(`${elapsed().toFixed(1).padStart(5)} s  ${words}`);
}
