import { systemClock } from "../../base/clock.ts";
import { type ApiClient, createApiClient, listAll } from "../api-client.ts";
import { channelResults, channelTable, isProven } from "./channel-outcome.ts";
import { configureChannels, makeChannelSchool, waitUntil } from "./channel-school.ts";
import { JOIN_SECRET } from "./channels.ts";
import type { Expected } from "./outcome.ts";
import { setPushCredentials } from "./school.ts";
import {
  type DemoNeeds,
  end,
  explain,
  firstGroup,
  say,
  sendAndFollow,
  startAppliance,
  startCampus,
  tellCampus,
} from "./stage.ts";

/** A few of each are enough. */
const FEW: Expected = { phones: 2, offline: 0, zones: 1 };

/** One message by every channel, and what each can prove of it; gives the exit code. */
export async function playChannels(needs: DemoNeeds, once: boolean): Promise<number> {
  const { terminal, signal } = needs;
  const { ready, token, admin } = await startAppliance(needs);
  const campus = await startCampus(needs, ready, FEW, "--services");
  const api = createApiClient(ready.url, token);
  say(needs, "setting up every channel");
  await setPushCredentials(api);
  await configureChannels(api, campus.ready.services, systemClock, signal);
  const { send, feedPath } = await makeChannelSchool(api, campus.ready);
  await tellCampus(
    campus.ready.control,
    "agents",
    JSON.stringify({ url: ready.url, joinSecret: JOIN_SECRET, count: 1 }),
  );
  await waitUntil(() => noAgent(api), systemClock, signal);
  const tell = (service: string, path: string): Promise<void> =>
    tellCampus(campus.ready.control, `services/${service}`, JSON.stringify({ url: `${ready.url}${path}` }));
  await tell("feed", feedPath);
  await tell("push", "/x/web-push/receipt");
  await tell("desktop", "/x/desktop");
  say(needs, "sending one message by every channel");
  const { ledger, account, sentAt } = await sendAndFollow(needs, api, campus, send, isProven);
  const results = channelResults(ledger, account, String(send.get("subject")), sentAt);
  terminal.out("");
  for (const line of channelTable(results, ledger)) terminal.out(line);
  terminal.out("");
  if (!once) explain(terminal, ready, { token, admin, groupId: await firstGroup(api) }, campus);
  const channels = Object.fromEntries(results.map(({ channel, ...result }) => [channel, result]));
  terminal.out(JSON.stringify({ channels, seconds: Math.round(needs.elapsed() * 10) / 10 }));
  return end(
    needs,
    once,
    results.every(({ ok }) => ok),
  );
}

/** Speakers with an agent make themselves known when they first ask. */
async function noAgent(api: ApiClient): Promise<string[]> {
  const devices = await listAll<{ deviceIdentifier: string }>(api, "/devices");
  const isThere = devices.some(({ deviceIdentifier }) => deviceIdentifier.startsWith("agent:"));
  return isThere ? [] : ["no speaker has made itself known"];
}
