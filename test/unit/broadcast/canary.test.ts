import { afterEach, beforeEach, expect, it } from "vitest";
import { AudioWorker } from "../../../src/audio/audio-worker.ts";
import { Streamer } from "../../../src/audio/streamer.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLog } from "../../../src/base/log.ts";
import { createCanary } from "../../../src/broadcast/canary.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

const log = silentLog;
let stored: string | null;
let audio: AudioWorker;
let streamer: Streamer;
beforeEach(async () => {
  stored = null;
  audio = new AudioWorker({ log });
  streamer = new Streamer({ clock: systemClock, log });
  audio.start();
  await streamer.start();
});
afterEach(() => Promise.all([audio.stop(), streamer.stop()]));

const store = {
  write: async (work: (tx: object) => unknown) => work({ run: (_sql: string, id: string) => (stored = id) }),
  one: () => stored && { id: stored },
} as never;

it("hears what it sent", async () => {
  const canary = createCanary({ store, clock: systemClock, log, audio, streamer });
  await canary.run();
  expect(canary.source()).toEqual([]);
  expect(canary.heardAt).toBeGreaterThan(Date.now() - 60_000);
  await canary.stop();
});

it("says what stands still, is severe the second time, silent the third, and well once it is heard again", async () => {
  const clock: FakeClock = createFakeClock();
  let isDeaf = true;
  const programme = { payload: new Uint8Array(160), packets: 1, durationMs: 20 } as never;
  const made = { forget: () => undefined, prepare: async () => programme };
  const mute = {
    open: async () => undefined,
    startGroup: () => undefined,
    repeat: () => undefined,
    end: () => undefined,
    on: () => () => undefined,
  };
  const canary = createCanary({
    ...{ store, clock, log, streamer: mute },
    audio: { ...made, prepare: () => (isDeaf ? new Promise<never>(() => undefined) : made.prepare()) },
  });
  canary.start();
  await clock.advance(39_000);
  expect(canary.source()).toEqual([]);
  await clock.advance(1_001);
  expect(canary.source()).toMatchObject([{ level: "yellow", reason: expect.stringContaining("has no sound") }]);
  await clock.advance(40_000);
  expect(canary.source()).toMatchObject([{ level: "red" }]);
  expect(canary.isSilent).toBe(false);
  isDeaf = false;
  await clock.advance(40_000);
  expect(canary.source()).toMatchObject([{ level: "red", reason: expect.stringContaining("is not heard") }]);
  expect(canary.isSilent).toBe(true);
  await canary.stop();
});
