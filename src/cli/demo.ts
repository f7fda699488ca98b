import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { initAppliance } from "../app/init.ts";
import { systemClock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import { type ApiClient, type ApiPage, createApiClient } from "./api-client.ts";
import { type CampusProcess, startCampusProcess } from "./campus-process.ts";
import { type DaemonReady, startDaemonProcess } from "./demo/daemon-process.ts";
import { followLedger } from "./demo/follow.ts";
import {
  type CampusAccount,
  type DemoFigures,
  differences,
  type Expected,
  figuresOf,
  tableOf,
} from "./demo/outcome.ts";
import { makeSchool, setPushCredentials } from "./demo/school.ts";
import { EXIT } from "./exit-codes.ts";
import { registerDevices } from "./register-devices.ts";
import type { Terminal } from "./terminal.ts";

const CAMPUS: Expected = { phones: 50, offline: 3, zones: 10 };
const LATENCY = "uniform:20:200";
const SEED = 7;

/** What the demo may use. */
interface DemoNeeds {
  terminal: Terminal;
  /** Aborts at SIGTERM and Ctrl-C. */
  signal: AbortSignal;
  /** Seconds since the demo began. */
  elapsed(): number;
  /** Takes what has to be ended when the demo is over, in reverse order. */
  atEnd(end: () => Promise<unknown>): void;
}

/** `carillon demo`: an appliance and a campus, one broadcast, and what is proven of it. */
export function addDemo(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const { phones, offline, zones } = CAMPUS;
  program
    .command("demo")
    .description(
      `Send a broadcast to ${phones} simulated phones (${offline} off line) and ${zones} zones, and show what is proven.`,
    )
    .option("--once", "end afterwards; exit code 1 when a figure is not as it should be")
    .addHelpText(
      "after",
      "\nExample:\n  carillon demo --once\n\n" +
        "Works in a folder of its own that it removes at the end, on 127.0.0.1 alone. The last line on stdout is JSON:\n" +
        "`phones` and `zones` count the appliance's ledger, `listened` is what the simulated devices say themselves.",
    )
    .action(async ({ once }: { once?: true }) => finish(await runDemo(terminal, once === true)));
}

async function runDemo(terminal: Terminal, once: boolean): Promise<number> {
  const began = systemClock.monotonicMs();
  const stopping = new AbortController();
  const interrupted = new UpstreamError("upstream", "The demo was interrupted.");
  const endListening = terminal.onStop(() => stopping.abort(interrupted));
  const ends: (() => Promise<unknown>)[] = [];
  const needs: DemoNeeds = {
    terminal,
    signal: stopping.signal,
    elapsed: () => (systemClock.monotonicMs() - began) / 1000,
    atEnd: (end) => void ends.unshift(end),
  };
  try {
    return await play(needs, once);
  } catch (error) {
    // What breaks because the processes got the signal too is not worth a word.
    throw stopping.signal.aborted ? interrupted : error;
  } finally {
    for (const end of ends) await end();
    endListening();
  }
}

async function play(needs: DemoNeeds, once: boolean): Promise<number> {
  const { terminal } = needs;
  const { ready, token, admin } = await startAppliance(needs);
  const campus = await startCampus(needs, ready);
  const api = createApiClient(ready.url, token);
  say(needs, `${campus.ready.devices.length} devices answer; making a school`);
  await setPushCredentials(api);
  await registerDevices(api, campus.ready.devices);
  const figures = await broadcast(needs, api, campus);
  const wrong = differences(figures, CAMPUS);
  for (const words of wrong) terminal.err(`not as it should be: ${words}`);
  if (!once) explain(terminal, ready, { token, admin, groupId: await firstGroup(api) }, campus);
  terminal.out(JSON.stringify(figures));
  if (!once) await new Promise<void>((resolve) => needs.signal.addEventListener("abort", () => resolve()));
  return wrong.length > 0 ? EXIT.failure : EXIT.ok;
}

/** Who may log in to the demo's console. */
interface Admin {
  email: string;
  password: string;
}

async function startAppliance(needs: DemoNeeds): Promise<{ ready: DaemonReady; token: string; admin: Admin }> {
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

async function startCampus(needs: DemoNeeds, { urls }: DaemonReady): Promise<CampusProcess> {
  const { phones, offline, zones } = CAMPUS;
  const counts = { phones, offline, zones, latency: LATENCY, seed: SEED, "auth-url": urls["ip-phones/auth"] ?? "" };
  const args = Object.entries(counts).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const campus = await startCampusProcess(args, () => undefined);
  if (typeof campus === "number") throw new UpstreamError("upstream", `The campus ended with code ${campus}.`);
  needs.atEnd(async () => {
    campus.stop();
    await campus.ended;
  });
  return campus;
}

async function broadcast(needs: DemoNeeds, api: ApiClient, campus: CampusProcess): Promise<DemoFigures> {
  const { templateId, template } = await makeSchool(api);
  say(needs, `sending ${JSON.stringify(template)}`);
  const sentAt = systemClock.now();
  const notification = await api.post<{ id: string }>("/notifications", { messageTemplateId: templateId });
  const onProgress = (counts: string): void => say(needs, counts);
  const following = { clock: systemClock, signal: needs.signal, onProgress };
  const ledger = await followLedger(api, notification.id, following);
  const programme = await api.bytes(`/notifications/${notification.id}/audio?form=programme`);
  const account = await askCampus(campus.ready.control, programme);
  needs.terminal.out("");
  for (const line of tableOf(ledger, account, sentAt)) needs.terminal.out(line);
  needs.terminal.out("");
  return figuresOf(ledger, account, sentAt, needs.elapsed());
}

/** Tells the campus what ought to have been heard, and asks what was. */
async function askCampus(control: string, programme: Uint8Array): Promise<CampusAccount> {
  const told = await fetch(`${control}/programme`, { method: "POST", body: new Uint8Array(programme) });
  const answer = await fetch(`${control}/report`);
  if (!told.ok || !answer.ok) throw new UpstreamError("upstream", "The campus gives no report.");
  return (await answer.json()) as CampusAccount;
}

async function firstGroup(api: ApiClient): Promise<string> {
  const { data } = await api.get<ApiPage<{ id: string }>>("/device-groups?limit=1");
  return data[0]?.id ?? "";
}

function explain(
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

function say({ terminal, elapsed }: DemoNeeds, words: string): void {
  terminal.err(`${elapsed().toFixed(1).padStart(5)} s  ${words}`);
}
