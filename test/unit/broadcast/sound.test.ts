import { expect, it } from "vitest";
import type { Programme } from "../../../src/audio/programme.ts";
import type { StreamEnded } from "../../../src/audio/stream-messages.ts";
import { createSound, type SoundNeeds } from "../../../src/broadcast/sound.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const GYM = { group: "10.0.0.1", port: 6_000, ttl: 1 };
const HALL = { group: "10.0.0.2", port: 6_000, ttl: 1 };
const SECONDS = 2;

/** A sound of two seconds over a streamer that ends each stream after its last packet. */
function open(isTogether: boolean, isAwaited: () => boolean = () => false, closed?: AbortSignal) {
  const clock = createFakeClock();
  const starts: { target: string; at: number; offsetPackets: number }[] = [];
  const log: string[] = [];
  let tellEnded = (_: StreamEnded): void => {};
  const offsets = new Map<string, number>();
  const begun = clock.now();
  const sound = createSound({
    clock,
    streamer: {
      open: async ({ streamId, offsetPackets }) => void offsets.set(streamId, offsetPackets),
      startGroup(ids, t0Ms) {
        for (const id of ids) {
          const offsetPackets = offsets.get(id) ?? 0;
          starts.push({ target: id, at: t0Ms - begun, offsetPackets });
          const lastMs = t0Ms + SECONDS * 1_000 - offsetPackets * 20 - clock.now();
          clock.after(lastMs, () => tellEnded({ streamId: id, reason: "finished" } as StreamEnded));
        }
      },
      end: () => {},
      on: ((name: string, listener: (event: StreamEnded) => void) => {
        if (name === "ended") tellEnded = listener;
        return () => {};
      }) as SoundNeeds["streamer"]["on"],
    },
    notificationId: "n",
    ssrc: 7,
    programme: { payload: new Uint8Array(SECONDS * 8_000), durationMs: SECONDS * 1_000, closed } as Programme,
    isTogether,
    isAwaited,
    interfaceAddress: "127.0.0.1",
    onOver: () => void log.push(`over ${clock.now() - begun}`),
    onLost: () => void log.push("lost"),
  });
  return { clock, sound, starts, log };
}

it("what joins a sound for all together misses what was before", async () => {
  const { clock, sound, starts, log } = open(true);
  await sound.open(GYM);
  sound.start();
  await clock.advance(1_000);
  await sound.open(HALL);
  expect(starts).toMatchObject([
    { target: "n/10.0.0.1:6000", at: 10, offsetPackets: 0 },
    { target: "n/10.0.0.2:6000", offsetPackets: 53 },
  ]);
  await clock.advance(10_000);
  expect(log).toEqual(["over 2010"]);
});

it("else it begins by itself, and the sound lasts until the last has heard it", async () => {
  const { clock, sound, starts, log } = open(false);
  await sound.open(GYM);
  sound.start();
  await clock.advance(1_500);
  await sound.open(HALL);
  expect(starts[1]).toEqual({ target: "n/10.0.0.2:6000", at: 1_510, offsetPackets: 0 });
  await clock.advance(1_900);
  expect(sound.over).toBe(false);
  await clock.advance(10_000);
  expect(log).toEqual(["over 3510"]);
});

it("waits for those that are being reached, for a minute at most", async () => {
  let ringing = true;
  const { clock, sound, starts, log } = open(false, () => ringing);
  sound.start();
  await clock.advance(30_000);
  await sound.open(HALL);
  expect(starts.at(-1)).toMatchObject({ at: 30_010, offsetPackets: 0 });
  ringing = false;
  await clock.advance(10_000);
  expect(log).toEqual(["over 32010"]);
  const endless = open(false, () => true);
  endless.sound.start();
  await endless.clock.advance(80_000);
  expect(endless.log).toHaveLength(1);
  expect(endless.sound.over).toBe(true);
});

it("after a restart all join where the others are", async () => {
  const { clock, sound, starts } = open(false);
  sound.resume(clock.now() - 1_000);
  await sound.open(GYM);
  expect(starts[0]?.offsetPackets).toBeGreaterThanOrEqual(50);
});

it("what somebody speaks now is joined where it is, since it ends with them for all", async () => {
  const { clock, sound, starts } = open(false, () => false, new AbortController().signal);
  sound.start();
  await clock.advance(1_000);
  await sound.open(GYM);
  expect(starts[0]?.offsetPackets).toBeGreaterThan(40);
});
