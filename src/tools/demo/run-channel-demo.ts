import { type ApiClient, createApiClient, listAll } from "../../api-client/api-client.ts";
import { systemClock } from "../../lib/clock.ts";
import { channelResults, formatChannelTable, isProven } from "./channel-results.ts";
import { configureChannelPlugins, createChannelDemoData, waitUntilReady } from "./channel-setup.ts";
import { DEMO_JOIN_SECRET } from "./channels.ts";
import {
  type DemoDeps,
  finishDemo,
  firstDeviceGroupId,
  printInstructions,
  printProgress,
  sendAndFollow,
  sendToSimulator,
  startDemoAppliance,
  startDemoSimulator,
} from "./demo-environment.ts";
import type { DemoExpectation } from "./demo-results.ts";
import { setPushCredentials } from "./demo-school.ts";

/** A few devices of each type are enough. */
const FEW_DEVICES: DemoExpectation = { phones: 2, offline: 0, zones: 1 };

/** Sends one message by every channel and prints the results; returns the exit code. */
export async function runChannelDemo(deps: DemoDeps, once: boolean): Promise<number> {
  const { terminal, signal } = deps;
  const { ready, token, admin } = await startDemoAppliance(deps);
  const simulator = await startDemoSimulator(deps, ready, FEW_DEVICES, "--services");
  const api = createApiClient(ready.url, token);
  printProgress(deps, "setting up every channel");
  await setPushCredentials(api);
  await configureChannelPlugins(api, simulator.ready.services, systemClock, signal);
  const { send, feedPath } = await createChannelDemoData(api, simulator.ready);
  await sendToSimulator(
    simulator.ready.control,
    "agents",
    JSON.stringify({ url: ready.url, joinSecret: DEMO_JOIN_SECRET, count: 1 }),
  );
  await waitUntilReady(() => missingAgent(api), systemClock, signal);
  const sendUrl = (service: string, path: string): Promise<void> =>
    sendToSimulator(simulator.ready.control, `services/${service}`, JSON.stringify({ url: `${ready.url}${path}` }));
  await sendUrl("feed", feedPath);
  await sendUrl("push", "/x/web-push/receipt");
  await sendUrl("desktop", "/x/desktop");
  printProgress(deps, "sending one message by every channel");
  const { ledger, account, sentAt } = await sendAndFollow(deps, api, simulator, send, isProven);
  const results = channelResults(ledger, account, String(send.get("subject")), sentAt);
  terminal.out("");
  for (const line of formatChannelTable(results, ledger)) terminal.out(line);
  terminal.out("");
  if (!once) printInstructions(terminal, ready, { token, admin, groupId: await firstDeviceGroupId(api) }, simulator);
  const channels = Object.fromEntries(results.map(({ channel, ...result }) => [channel, result]));
  terminal.out(JSON.stringify({ channels, seconds: Math.round(deps.elapsed() * 10) / 10 }));
  return finishDemo(
    deps,
    once,
    results.every(({ ok }) => ok),
  );
}

/** Speakers with an agent register themselves at their first request. */
async function missingAgent(api: ApiClient): Promise<string[]> {
  const devices = await listAll<{ deviceIdentifier: string }>(api, "/devices");
  const isRegistered = devices.some(({ deviceIdentifier }) => deviceIdentifier.startsWith("agent:"));
  return isRegistered ? [] : ["no speaker has registered"];
}
