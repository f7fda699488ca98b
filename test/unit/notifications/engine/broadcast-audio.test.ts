import { expect, it } from "vitest";
import type { RenderedAudio } from "../../../../src/media/rendered-audio.ts";
import type { StreamEnded } from "../../../../src/media/streamer-messages.ts";
import { type BroadcastAudioDeps, createBroadcastAudio } from "../../../../src/notifications/engine/broadcast-audio.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const GYM = { group: "10.0.0.1", port: 6_000, ttl: 1 };
const HALL = { group: "10.0.0.2", port: 6_000, ttl: 1 };
const SECONDS = 2;
/** The streamer tells the end of a stream so much later. */
const END_MS = 3;

/** A sound of two seconds over a streamer that ends each stream after its last packet. */
function open(
  synchronizedStart: boolean,
  hasPendingStreams: () => boolean = () => false,
  {
    closed,
    isMissed: wouldBeMissed = () => false,
  }: { closed?: AbortSignal; isMissed?: (endsAt: number) => boolean } = {},
) {
  const clock = createFakeClock();
  const starts: { target: string; at: number; offsetPackets: number }[] = [];
  const log: string[] = [];
  let tellEnded = (_: StreamEnded): void => {};
  const specs = new Map<string, { offsetPackets: number; repeats: number }>();
  const begun = clock.now();
  const sound = createBroadcastAudio({
    clock,
    streamer: {
      open: async ({ streamId, offsetPackets, repeats }) => void specs.set(streamId, { offsetPackets, repeats }),
      setRepeats(id, repeats) {
        Object.assign(specs.get(id) as object, { repeats });
        log.push(`${id} ${repeats} times at ${clock.now() - begun}`);
      },
      startGroup(ids, t0Ms) {
        for (const id of ids) {
          const { offsetPackets = 0 } = specs.get(id) ?? {};
          starts.push({ target: id, at: t0Ms - begun, offsetPackets });
          const endsAt = () => t0Ms + SECONDS * 1_000 * (specs.get(id)?.repeats ?? 1) - offsetPackets * 20;
          const expectLast = (): void => {
            clock.after(endsAt() - clock.now(), () => {
              if (endsAt() > clock.now()) expectLast();
              else tellEnded({ streamId: id, reason: "finished" } as StreamEnded);
            });
          };
          expectLast();
        }
      },
      end: (streamId) => void clock.after(END_MS, () => tellEnded({ streamId, reason: "stopped" } as StreamEnded)),
      on: ((name: string, listener: (event: StreamEnded) => void) => {
        if (name === "ended") tellEnded = listener;
        return () => {};
      }) as BroadcastAudioDeps["streamer"]["on"],
    },
    notificationId: "n",
    ssrc: 7,
    renderedAudio: { payload: new Uint8Array(SECONDS * 8_000), durationMs: SECONDS * 1_000, closed } as RenderedAudio,
    synchronizedStart,
    hasPendingStreams,
    wouldBeMissed,
    networkInterface: "127.0.0.1",
    onEnd: () => void log.push(`over ${clock.now() - begun}`),
    onLost: () => void log.push("lost"),
  });
  return { clock, sound, starts, log, begun };
}

it("joins synchronized audio at the current position", async () => {
  const { clock, sound, starts, log } = open(true);
  await sound.openStream(GYM);
  sound.start();
  await clock.advance(1_000);
  await sound.openStream(HALL);
  expect(starts).toMatchObject([
    { target: "n/10.0.0.1:6000", at: 10, offsetPackets: 0 },
    { target: "n/10.0.0.2:6000", offsetPackets: 53 },
  ]);
  await clock.advance(10_000);
  expect(log).toEqual(["over 2010"]);
});

it("replaces a stream whose device has another key since", async () => {
  const { clock, sound, starts } = open(true);
  const secrecy = (fill: string) => ({ suite: "AES_CM_128_HMAC_SHA1_80", key: fill.repeat(40) }) as const;
  await sound.openStream({ ...GYM, secrecy: secrecy("a") });
  sound.start();
  await clock.advance(500);
  await sound.openStream({ ...GYM, secrecy: secrecy("a") });
  expect(starts).toHaveLength(1);
  const opening = sound.openStream({ ...GYM, secrecy: secrecy("b") });
  await clock.advance(END_MS);
  await opening;
  expect(starts).toHaveLength(2);
  expect(starts[1]).toMatchObject({ target: "n/10.0.0.1:6000", offsetPackets: 28 });
});

it("otherwise starts on its own, and lasts until the last device has heard it", async () => {
  const { clock, sound, starts, log } = open(false);
  await sound.openStream(GYM);
  sound.start();
  await clock.advance(1_500);
  await sound.openStream(HALL);
  expect(starts[1]).toEqual({ target: "n/10.0.0.2:6000", at: 1_510, offsetPackets: 0 });
  await clock.advance(1_900);
  expect(sound.over).toBe(false);
  await clock.advance(10_000);
  expect(log).toEqual(["over 3510"]);
});

it("repeats for devices that would miss it, a minute at most", async () => {
  let missed = 2;
  const ends: number[] = [];
  const isMissed = (endsAt: number): boolean => {
    ends.push(endsAt - begun);
    return missed-- > 0;
  };
  const { clock, sound, starts, log, begun } = open(true, () => false, { isMissed });
  await sound.openStream(GYM);
  sound.start();
  await clock.advance(2_500);
  await sound.openStream(HALL);
  expect(starts[1]).toMatchObject({ target: "n/10.0.0.2:6000", offsetPackets: 128 });
  await clock.advance(10_000);
  expect(ends).toEqual([2_010, 4_010, 6_010]);
  const both = ["n/10.0.0.1:6000 3 times at 3510", "n/10.0.0.2:6000 3 times at 3510"];
  expect(log).toEqual(["n/10.0.0.1:6000 2 times at 1510", ...both, "over 6010"]);
  const endless = open(true, () => false, { isMissed: () => true });
  await endless.sound.openStream(GYM);
  endless.sound.start();
  await endless.clock.advance(120_000);
  expect(endless.log.at(-1)).toBe("over 62010");
});

it("waits for devices being reached, a minute at most", async () => {
  let ringing = true;
  const { clock, sound, starts, log } = open(false, () => ringing);
  sound.start();
  await clock.advance(30_000);
  await sound.openStream(HALL);
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

it("joins all at the common position after a restart", async () => {
  const { clock, sound, starts } = open(false);
  sound.resume(clock.now() - 1_000);
  await sound.openStream(GYM);
  expect(starts[0]?.offsetPackets).toBeGreaterThanOrEqual(50);
});

it("joins a live page at its current position, since it ends for all at once", async () => {
  const { clock, sound, starts } = open(false, () => false, { closed: new AbortController().signal });
  sound.start();
  await clock.advance(1_000);
  await sound.openStream(GYM);
  expect(starts[0]?.offsetPackets).toBeGreaterThan(40);
});

it.each([true, false])(
  "sends again to a target that was closed just before (synchronized: %s)",
  async (synchronized) => {
    const { clock, sound, starts } = open(synchronized);
    await sound.openStream(GYM);
    sound.start();
    await clock.advance(500);
    for (const again of [1, 2, 3]) {
      sound.closeStream(GYM);
      const both = [sound.openStream(GYM), sound.openStream(GYM)];
      await clock.advance(END_MS);
      await Promise.all(both);
      expect(starts.filter(({ target }) => target === "n/10.0.0.1:6000")).toHaveLength(1 + again);
    }
  },
);

it("opens no stream any more when the audio is over before the former one has ended", async () => {
  const { clock, sound } = open(true);
  await sound.openStream(GYM);
  sound.start();
  await clock.advance(500);
  sound.closeStream(GYM);
  const again = sound.openStream(GYM);
  sound.stop();
  await expect(again).rejects.toThrow("The audio of the message has ended.");
});
