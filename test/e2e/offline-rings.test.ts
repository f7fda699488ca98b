import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { selectPlayer } from "../../src/speaker-agent/audio-output.ts";
import { runSpeakerAgent } from "../../src/speaker-agent/speaker-agent.ts";
import { openStateFolder } from "../../src/speaker-agent/state-folder.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";

type Row = Record<string, unknown> & { id: string };

const MAC = "02005E100001";
const SECRET = "sixteen characters and more";
const SECOND = 1_000;
const MINUTE = 60_000;
const PATIENCE = { timeout: 30_000, interval: 10 };

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** The product's agent on a clock that the test moves; `at` of its log is by that clock. */
async function startAgent(server: string, folder: string, clock: FakeClock) {
  const played = join(folder, "played.raw");
  const program = join(folder, "player");
  writeFileSync(program, `#!/bin/sh\nexec cat >> ${played}\n`);
  chmodSync(program, 0o700);
  const stopping = new AbortController();
  const log: string[] = [];
  const running = runSpeakerAgent(
    {
      ...{ clock, server, joinSecret: SECRET, state: await openStateFolder(join(folder, "state")) },
      ...{
        mac: MAC,
        name: "Gym",
        model: "test-agent",
        version: "1",
        port: 0,
        bufferMs: 40,
        listen: null,
        watchNetwork: null,
      },
      machine: { bootId: "first", isClockSet: async () => true },
      open: selectPlayer(`exec:${program}`, null, ""),
      log: (words) => void log.push(words),
    },
    stopping.signal,
  );
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  endings.push(stop);
  return { log, stop, played: () => (existsSync(played) ? statSync(played).size : 0) };
}

async function make({ call }: TestDaemon, path: string, body: object): Promise<Row> {
  const { status, body: made } = await call<Row>("POST", path, body);
  expect(status, JSON.stringify(made)).toBe(200);
  return made;
}

/** Two schedules that ring at the same moment, the one at a speaker with an agent, the other at a zone; their ids. */
async function ringsAt(daemon: TestDaemon, at: number): Promise<string[]> {
  const devices = `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}/devices`;
  const zone = { Group: "239.1.2.3", Port: "5004", Codec: "PCMU", TTL: "1" };
  const ids: string[] = [];
  for (const [deviceIdentifier, attributes] of [
    [`agent:${MAC}`, { MACAddress: MAC }],
    ["zone:hall", zone],
  ] as const) {
    const name = `Every day at ${deviceIdentifier}`;
    const device = await make(daemon, devices, { deviceIdentifier, type: "speakers", description: name, attributes });
    const group = await make(daemon, "/device-groups", {
      ...{ name, filterType: "REJECT", additionIds: [device.icopId] },
    });
    const bell = { name, subject: "Bell", alertTone: "chime", deviceGroupIds: [group.id] };
    const { id: messageTemplateId } = await make(daemon, "/message-templates", bell);
    const entries = [{ time: new Date(at).toISOString().slice(11, 19), messageTemplateId }];
    const { id: ringListId } = await make(daemon, "/ring-lists", { name, entries });
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
    const [startDate, endDate] = [-1, 20].map((days) =>
      new Date(at + days * 1_440 * MINUTE).toISOString().slice(0, 10),
    );
    const span = { startDate, endDate, timeZone: "Etc/UTC", numWeeks: 1 };
    ids.push((await make(daemon, "/bell-schedules", { name, ...span, bellScheduleEntries })).id);
  }
  return ids;
}

it("rings the bells of an offline appliance on an agent, and reports them afterwards without a missed one", async () => {
  const first = await startTestDaemon();
  endings.push(first.stop);
  const { data } = (await first.call<{ data: Row[] }>("GET", "/extensions?limit=100")).body;
  const speakers = data.find(({ name }) => name === "speakers")?.id;
  const rules = [{ volume: 100 }];
  await first.call("PUT", `/extensions/${speakers}`, { config: { joinSecret: SECRET, rules }, disabled: false });
  const at = Math.ceil((Date.now() + 5 * MINUTE) / SECOND) * SECOND;
  const [alone = "", nobody = ""] = await ringsAt(first, at);

  const folder = makeTempDir();
  const clock = createFakeClock();
  const agent = await startAgent(first.url, folder, clock);
  const sounds = (): string[] => readdirSync(join(folder, "state")).filter((name) => name.startsWith("sound-"));
  // It asks again after a second while the plugin is being started.
  await expect
    .poll(async () => {
      await clock.advance(SECOND / 10);
      return existsSync(join(folder, "state")) && sounds().length;
    }, PATIENCE)
    .toBe(1);
  // The appliance knows of it.
  await expect
    .poll(async () => {
      const path = `/extensions/${first.first.extensionId}/endpoints/${first.first.endpointId}/devices`;
      return (await first.call<{ data: Row[] }>("GET", path)).body.data;
    }, PATIENCE)
    .toContainEqual(
      expect.objectContaining({
        attributes: expect.objectContaining({ RingPlanUntil: expect.stringMatching(/T00:00/) }),
      }),
    );
  for (const name of readdirSync(join(folder, "state")))
    expect(statSync(join(folder, "state", name)).mode & 0o077, name).toBe(0);
  await first.stop();

  // By its own clock it is some seconds behind: that stood still while the appliance was started.
  for (let ms = at - Date.now() - 30 * SECOND; ms > 0; ms -= SECOND) await clock.advance(SECOND);
  await expect
    .poll(async () => {
      await clock.advance(SECOND / 2);
      return agent.log;
    }, PATIENCE)
    .toContain(`offline ring: ${new Date(at).toISOString()}`);
  await expect
    .poll(async () => {
      await clock.advance(20);
      return agent.played();
    }, PATIENCE)
    .toBeGreaterThan(8_000);

  // The appliance comes back a minute after the ring.
  let ahead = at - Date.now() + MINUTE;
  const later: Clock = { ...systemClock, now: () => Date.now() + ahead };
  const listen = new URL(first.url).host;
  const back = await startTestDaemon({ after: first, listen, clock: later });
  endings.push(back.stop);
  const ringOf = async (schedule: string): Promise<Row | undefined> => {
    const [from, to] = [at - SECOND, at + SECOND].map((ms) => encodeURIComponent(new Date(ms).toISOString()));
    const path = `/bell-schedules/${schedule}/rings?from=${from}&to=${to}`;
    return (await back.call<{ data: Row[] }>("GET", path)).body.data[0];
  };
  const { extensionId, endpointId } = back.first;
  const reds = async (): Promise<unknown> =>
    (await back.call<{ redReasons: string[] }>("GET", `/extensions/${extensionId}/endpoints/${endpointId}`)).body
      .redReasons;
  expect(await ringOf(alone)).toMatchObject({ state: "missed", playedAlone: 0 });
  expect(await reds()).toEqual([]);
  await expect
    .poll(async () => {
      await clock.advance(SECOND);
      return ringOf(alone);
    }, PATIENCE)
    .toMatchObject({ state: "rung", playedAlone: 1 });
  expect(await ringOf(nobody)).toMatchObject({ state: "missed", playedAlone: 0 });
  ahead += MINUTE;
  expect(await reds()).toEqual([expect.stringContaining("was missed. The appliance was not running.")]);
  // Before the appliance, which would wait for its request.
  await agent.stop();
}, 120_000);
