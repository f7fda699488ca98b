import type { Command } from "commander";
import { type ApiClient, createApiClient } from "../api-client/api-client.ts";
import { registerDevices } from "../api-client/register-devices.ts";
import { systemClock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import {
  type DemoDeps,
  finishDemo,
  firstDeviceGroupId,
  printInstructions,
  printProgress,
  sendAndFollow,
  startDemoAppliance,
  startDemoSimulator,
} from "../tools/demo/demo-environment.ts";
import {
  type DemoExpectation,
  type DemoFigures,
  demoDifferences,
  demoFigures,
  formatDemoTable,
} from "../tools/demo/demo-results.ts";
import { createDemoSchool, setPushCredentials } from "../tools/demo/demo-school.ts";
import { runChannelDemo } from "../tools/demo/run-channel-demo.ts";
import type { SimulatorProcess } from "../tools/simulator-process.ts";
import type { Terminal } from "./terminal.ts";

const DEMO_DEVICES: DemoExpectation = { phones: 50, offline: 3, zones: 10 };

/** `carillon demo`: an appliance and a campus, one broadcast, and what is proven of it. */
export function addDemo(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const { phones, offline, zones } = DEMO_DEVICES;
  program
    .command("demo")
    .description(
      `Send a broadcast to ${phones} simulated phones (${offline} off line) and ${zones} zones, and show what is proven.`,
    )
    .option("--once", "end afterwards; exit code 1 when a figure is not as it should be")
    .option("--channels", "one message by every channel instead: mail, text message, chat, SIP and what else there is")
    .addHelpText(
      "after",
      "\nExample:\n  carillon demo --once\n\n" +
        "Works in a folder of its own that it removes at the end, on 127.0.0.1 alone. The last line on stdout is JSON:\n" +
        "`phones` and `zones` count the appliance's ledger, `listened` is what the simulated devices say themselves.\n" +
        "With --channels it holds for each channel what was sent and received, the proven level, and after how many ms.",
    )
    .action(async ({ once = false, channels = false }: { once?: boolean; channels?: boolean }) =>
      finish(await runDemo(terminal, (needs) => (channels ? runChannelDemo : runPhoneDemo)(needs, once))),
    );
}

async function runDemo(terminal: Terminal, act: (needs: DemoDeps) => Promise<number>): Promise<number> {
  const began = systemClock.monotonicMs();
  const stopping = new AbortController();
  const interrupted = new UpstreamError("upstream", "The demo was interrupted.");
  const endListening = terminal.onStop(() => stopping.abort(interrupted));
  const ends: (() => Promise<unknown>)[] = [];
  const needs: DemoDeps = {
    terminal,
    signal: stopping.signal,
    elapsed: () => (systemClock.monotonicMs() - began) / 1000,
    onCleanup: (end) => void ends.unshift(end),
  };
  try {
    return await act(needs);
  } catch (error) {
    // What breaks because the processes got the signal too is not worth a word.
    throw stopping.signal.aborted ? interrupted : error;
  } finally {
    for (const end of ends) await end();
    endListening();
  }
}

async function runPhoneDemo(needs: DemoDeps, once: boolean): Promise<number> {
  const { terminal } = needs;
  const { ready, token, admin } = await startDemoAppliance(needs);
  const campus = await startDemoSimulator(needs, ready, DEMO_DEVICES);
  const api = createApiClient(ready.url, token);
  printProgress(needs, `${campus.ready.devices.length} devices answer; making a school`);
  await setPushCredentials(api);
  await registerDevices(api, campus.ready.devices);
  const figures = await broadcast(needs, api, campus);
  const wrong = demoDifferences(figures, DEMO_DEVICES);
  for (const words of wrong) terminal.err(`not as it should be: ${words}`);
  if (!once) printInstructions(terminal, ready, { token, admin, groupId: await firstDeviceGroupId(api) }, campus);
  terminal.out(JSON.stringify(figures));
  return finishDemo(needs, once, wrong.length === 0);
}

async function broadcast(needs: DemoDeps, api: ApiClient, campus: SimulatorProcess): Promise<DemoFigures> {
  const { templateId, template } = await createDemoSchool(api);
  printProgress(needs, `sending ${JSON.stringify(template)}`);
  const { ledger, account, sentAt } = await sendAndFollow(needs, api, campus, { messageTemplateId: templateId });
  needs.terminal.out("");
  for (const line of formatDemoTable(ledger, account, sentAt)) needs.terminal.out(line);
  needs.terminal.out("");
  return demoFigures(ledger, account, sentAt, needs.elapsed());
}
