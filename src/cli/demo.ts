import type { Command } from "commander";
import { type ApiClient, createApiClient } from "../api-client/api-client.ts";
import { systemClock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { DemoDeps } from "../tools/demo/demo-environment.ts";
import type { DemoExpectation, DemoFigures } from "../tools/demo/demo-results.ts";
import type { SimulatorProcess } from "../tools/simulator-process.ts";
import { counted } from "./counted.ts";

const DEMO_DEVICES: DemoExpectation = { phones: 50, offline: 3, zones: 10 };

/** `carillon demo`: starts an appliance and the simulator, sends one message and shows the results. */
export function addDemo(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const { phones, offline, zones } = DEMO_DEVICES;
  program
    .command("demo")
    .description(
      `Send a message to ${phones} simulated phones (${offline} offline) and ${zones} paging zones and show the results.`,
    )
    .option("--once", "exit afterwards; exit code 1 when a result differs from the expected one")
    .option("--channels", "instead, send one message by every channel: email, text message, chat, SIP and so on")
    .addHelpText(
      "after",
      "\nExample:\n  carillon demo --once\n\n" +
        "Uses a temporary folder, removed at the end, and 127.0.0.1 only. The last line on stdout is JSON:\n" +
        "`phones` and `zones` are the appliance's counts, `listened` is what the simulated devices received.\n" +
        "With --channels it holds, for each channel, what was sent and received, the delivery level and the time in ms.",
    )
    .action(async ({ once = false, channels = false }: { once?: boolean; channels?: boolean }) =>
      finish(await runDemo(terminal, (deps) => (channels ? runEveryChannel : runPhoneDemo)(deps, once))),
    );
}

async function runDemo(terminal: Terminal, act: (deps: DemoDeps) => Promise<number>): Promise<number> {
  const startedAt = systemClock.monotonicMs();
  const stopping = new AbortController();
  const interrupted = new UpstreamError("upstream", "The demo was interrupted.");
  const endListening = terminal.onStop(() => stopping.abort(interrupted));
  const cleanups: (() => Promise<unknown>)[] = [];
  const deps: DemoDeps = {
    terminal,
    signal: stopping.signal,
    elapsed: () => (systemClock.monotonicMs() - startedAt) / 1000,
    onCleanup: (cleanup) => void cleanups.unshift(cleanup),
  };
  try {
    return await act(deps);
  } catch (error) {
    // The signal also reached the child processes; errors that follow from it are not worth reporting.
    throw stopping.signal.aborted ? interrupted : error;
  } finally {
    for (const cleanup of cleanups) await cleanup();
    endListening();
  }
}

async function runEveryChannel(deps: DemoDeps, once: boolean): Promise<number> {
  const { runChannelDemo } = await import("../tools/demo/run-channel-demo.ts");
  return runChannelDemo(deps, once);
}

async function runPhoneDemo(deps: DemoDeps, once: boolean): Promise<number> {
  const { registerDevices } = await import("../api-client/register-devices.ts");
  const { demoDifferences, formatDemoSummary } = await import("../tools/demo/demo-results.ts");
  const { createSchoolDay, setPushCredentials } = await import("../tools/demo/demo-school.ts");
  const { finishDemo, firstDeviceGroupId, printInstructions, printProgress, startDemoAppliance, startDemoSimulator } =
    await import("../tools/demo/demo-environment.ts");
  const { terminal } = deps;
  const { ready, token, admin } = await startDemoAppliance(deps);
  const simulator = await startDemoSimulator(deps, ready, DEMO_DEVICES);
  const api = createApiClient(ready.url, token);
  printProgress(deps, `${counted(simulator.ready.devices.length, "device")} running; creating a school`);
  await setPushCredentials(api);
  await registerDevices(api, simulator.ready.devices);
  const figures = await broadcast(deps, api, simulator);
  for (const line of formatDemoSummary(figures, DEMO_DEVICES)) terminal.out(line);
  terminal.out("");
  const differences = demoDifferences(figures, DEMO_DEVICES);
  for (const difference of differences) terminal.err(`unexpected: ${difference}`);
  if (!once) {
    await createSchoolDay(api, systemClock.now());
    printInstructions(terminal, ready, { token, admin, groupId: await firstDeviceGroupId(api) }, simulator);
  }
  terminal.out(JSON.stringify(figures));
  return finishDemo(deps, once, differences.length === 0);
}

async function broadcast(deps: DemoDeps, api: ApiClient, simulator: SimulatorProcess): Promise<DemoFigures> {
  const { demoFigures, formatDemoTable } = await import("../tools/demo/demo-results.ts");
  const { createDemoSchool } = await import("../tools/demo/demo-school.ts");
  const { printProgress, sendAndFollow } = await import("../tools/demo/demo-environment.ts");
  const { templateId, template } = await createDemoSchool(api);
  printProgress(deps, `sending ${JSON.stringify(template)}`);
  const { ledger, account, sentAt } = await sendAndFollow(deps, api, simulator, { messageTemplateId: templateId });
  deps.terminal.out("");
  for (const line of formatDemoTable(ledger, account, sentAt)) deps.terminal.out(line);
  deps.terminal.out("");
  return demoFigures(ledger, account, sentAt, deps.elapsed());
}
