import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLog } from "../../../../src/lib/log.ts";
import { AudioRenderer } from "../../../../src/media/audio-renderer.ts";
import { Streamer } from "../../../../src/media/streamer.ts";
import { createLoopbackProbe } from "../../../../src/notifications/engine/loopback-probe.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";

const log = silentLog;
let stored: string | null;
let audio: AudioRenderer;
let streamer: Streamer;
beforeEach(async () => {
  stored = null;
  audio = new AudioRenderer({ log });
  streamer = new Streamer({ clock: systemClock, log });
  audio.start();
  await streamer.start();
});
afterEach(() => Promise.all([audio.stop(), streamer.stop()]));

const store = {
  write: async (work: (tx: object) => unknown) => work({ run: (_sql: string, id: string) => (stored = id) }),
  one: () => stored && { id: stored },
} as never;

it("receives what it sent", async () => {
  const canary = createLoopbackProbe({ store, clock: systemClock, log, audio, streamer });
  await canary.run();
  expect(canary.healthReasons()).toEqual([]);
  expect(canary.heardAt).toBeGreaterThan(Date.now() - 60_000);
  await canary.stop();
});

it("names the failed step, is severe on the second failure, asks for a restart on the third, and recovers", async () => {
  const clock: FakeClock = createFakeClock();
  let isDeaf = true;
  const programme = { payload: new Uint8Array(160), packets: 1, durationMs: 20 } as never;
  const made = { forget: () => undefined, prepare: async () => programme };
  const mute = {
    open: async () => undefined,
    startGroup: () => undefined,
    setRepeats: () => undefined,
    end: () => undefined,
    on: () => () => undefined,
  };
  const canary = createLoopbackProbe({
    ...{ store, clock, log, streamer: mute },
    audio: { ...made, prepare: () => (isDeaf ? new Promise<never>(() => undefined) : made.prepare()) },
  });
  canary.start();
  await clock.advance(39_000);
  expect(canary.healthReasons()).toEqual([]);
  await clock.advance(1_001);
  expect(canary.healthReasons()).toMatchObject([
    { level: "yellow", reason: expect.stringContaining("could not be rendered") },
  ]);
  await clock.advance(40_000);
  expect(canary.healthReasons()).toMatchObject([{ level: "red" }]);
  expect(canary.isSilent).toBe(false);
  isDeaf = false;
  await clock.advance(40_000);
  expect(canary.healthReasons()).toMatchObject([{ level: "red", reason: expect.stringContaining("was not received") }]);
  expect(canary.isSilent).toBe(true);
  await canary.stop();
});
