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

/** A few of each are enough. */
const FEW_DEVICES: DemoExpectation = { phones: 2, offline: 0, zones: 1 };

/** One message by every channel, and what each can prove of it; gives the exit code. */
export async function runChannelDemo(needs: DemoDeps, once: boolean): Promise<number> {
  const { terminal, signal } = needs;
  const { ready, token, admin } = await startDemoAppliance(needs);
  const campus = await startDemoSimulator(needs, ready, FEW_DEVICES, "--services");
  const api = createApiClient(ready.url, token);
  printProgress(needs, "setting up every channel");
  await setPushCredentials(api);
  await configureChannelPlugins(api, campus.ready.services, systemClock, signal);
  const { send, feedPath } = await createChannelDemoData(api, campus.ready);
  await sendToSimulator(
    campus.ready.control,
    "agents",
    JSON.stringify({ url: ready.url, joinSecret: DEMO_JOIN_SECRET, count: 1 }),
  );
  await waitUntilReady(() => missingAgent(api), systemClock, signal);
  const tell = (service: string, path: string): Promise<void> =>
    sendToSimulator(campus.ready.control, `services/${service}`, JSON.stringify({ url: `${ready.url}${path}` }));
  await tell("feed", feedPath);
  await tell("push", "/x/web-push/receipt");
  await tell("desktop", "/x/desktop");
  printProgress(needs, "sending one message by every channel");
  const { ledger, account, sentAt } = await sendAndFollow(needs, api, campus, send, isProven);
  const results = channelResults(ledger, account, String(send.get("subject")), sentAt);
  terminal.out("");
  for (const line of formatChannelTable(results, ledger)) terminal.out(line);
  terminal.out("");
  if (!once) printInstructions(terminal, ready, { token, admin, groupId: await firstDeviceGroupId(api) }, campus);
  const channels = Object.fromEntries(results.map(({ channel, ...result }) => [channel, result]));
  terminal.out(JSON.stringify({ channels, seconds: Math.round(needs.elapsed() * 10) / 10 }));
  return finishDemo(
    needs,
    once,
    results.every(({ ok }) => ok),
  );
}

/** Speakers with an agent make themselves known when they first ask. */
async function missingAgent(api: ApiClient): Promise<string[]> {
  const devices = await listAll<{ deviceIdentifier: string }>(api, "/devices");
  const isThere = devices.some(({ deviceIdentifier }) => deviceIdentifier.startsWith("agent:"));
  return isThere ? [] : ["no speaker has made itself known"];
}
