import type { Command } from "commander";
import { systemClock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import { type ApiClient, createApiClient } from "./api-client.ts";
import type { CampusProcess } from "./campus-process.ts";
import { type DemoFigures, differences, type Expected, figuresOf, tableOf } from "./demo/outcome.ts";
import { playChannels } from "./demo/play-channels.ts";
import { makeSchool, setPushCredentials } from "./demo/school.ts";
import {
  type DemoNeeds,
  end,
  explain,
  firstGroup,
  say,
  sendAndFollow,
  startAppliance,
  startCampus,
} from "./demo/stage.ts";
import { registerDevices } from "./register-devices.ts";
import type { Terminal } from "./terminal.ts";

const CAMPUS: Expected = { phones: 50, offline: 3, zones: 10 };

/** `carillon demo`: an appliance and a campus, one broadcast, and what is proven of it. */
export function addDemo(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const { phones, offline, zones } = CAMPUS;
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
      finish(await runDemo(terminal, (needs) => (channels ? playChannels : play)(needs, once))),
    );
}

async function runDemo(terminal: Terminal, act: (needs: DemoNeeds) => Promise<number>): Promise<number> {
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
    return await act(needs);
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
  const campus = await startCampus(needs, ready, CAMPUS);
  const api = createApiClient(ready.url, token);
  say(needs, `${campus.ready.devices.length} devices answer; making a school`);
  await setPushCredentials(api);
  await registerDevices(api, campus.ready.devices);
  const figures = await broadcast(needs, api, campus);
  const wrong = differences(figures, CAMPUS);
  for (const words of wrong) terminal.err(`not as it should be: ${words}`);
  if (!once) explain(terminal, ready, { token, admin, groupId: await firstGroup(api) }, campus);
  terminal.out(JSON.stringify(figures));
  return end(needs, once, wrong.length === 0);
}

async function broadcast(needs: DemoNeeds, api: ApiClient, campus: CampusProcess): Promise<DemoFigures> {
  const { templateId, template } = await makeSchool(api);
  say(needs, `sending ${JSON.stringify(template)}`);
  const { ledger, account, sentAt } = await sendAndFollow(needs, api, campus, { messageTemplateId: templateId });
  needs.terminal.out("");
  for (const line of tableOf(ledger, account, sentAt)) needs.terminal.out(line);
  needs.terminal.out("");
  return figuresOf(ledger, account, sentAt, needs.elapsed());
}
