import { describe, expect, it } from "vitest";
import { renderTone } from "../../../src/media/tones.ts";
import { createMatchedFilter, MAX_P_VALUE } from "../../../src/speaker-agent/matched-filter.ts";
import { isHeard, listenInRoom } from "../../support/listen-in-room.ts";
import { type SyntheticRoom, syntheticRoom } from "../../support/synthetic-room.ts";
import { seededRandom, speech } from "../../support/synthetic-sounds.ts";

const spoken = { kind: "speech" as const, name: "speech", tone: null, samples: speech(6, seededRandom(7)) };
const quietRoom = { plays: true, sound: spoken, reverberationS: 0.2, driftPpm: 0, isQuiet: true };

describe("matched filter of the room microphone", () => {
  it("finds what plays and nothing else, in 24 rooms", () => {
    const rooms = Array.from({ length: 24 }, (_, n) => syntheticRoom(100 + n));
    const wrong = rooms.filter(
      (room) => isHeard(listenInRoom(room)) !== room.plays && (!room.plays || room.snrDb >= 0),
    );
    expect(wrong.map(({ seed, sound, snrDb }) => ({ seed, sound, snrDb }))).toEqual([]);
    expect(rooms.filter(({ plays }) => plays)).toHaveLength(12);
  });

  it.each(["chime", "default", "accent"])("finds the short tone %s while a hall rings for 2.5 s", (tone) => {
    const samples = Float32Array.from(renderTone(tone), (sample) => sample / 32_768);
    const sound = { kind: "alert tone" as const, name: tone, tone, samples };
    const room = syntheticRoom(6, { ...quietRoom, sound, reverberationS: 2.5, snrDb: 12, delayMs: 200 });
    expect(isHeard(listenInRoom(room))).toBe(true);
  });

  it("does not match a chord of another tone", () => {
    const toneOf = (tone: string) => Float32Array.from(renderTone(tone), (sample) => sample / 32_768);
    const roomOf = (tone: string): SyntheticRoom =>
      syntheticRoom(8, {
        ...{ ...quietRoom, delayMs: 200, snrDb: 20 },
        sound: { kind: "alert tone", name: tone, tone, samples: toneOf(tone) },
      });
    // Both begin with 440 Hz; 659 Hz is in both, too.
    const { played } = roomOf("class-change4");
    const { recorded } = roomOf("shift-change1");
    expect(listenInRoom({ played, recorded })?.pValue).toBeGreaterThan(MAX_P_VALUE);
  });

  it("measures the delay to the millisecond", () => {
    for (const delayMs of [40, 137, 800, 1_500]) {
      const found = listenInRoom(syntheticRoom(1, { ...quietRoom, snrDb: 10, delayMs }));
      expect(isHeard(found)).toBe(true);
      expect(Math.abs((found?.delayMs ?? 0) - delayMs)).toBeLessThanOrEqual(1);
    }
  });

  it("measures the level over the noise", () => {
    for (const snrDb of [-5, 0, 6, 12]) {
      const found = listenInRoom(syntheticRoom(2, { ...quietRoom, snrDb, delayMs: 200 }));
      expect(isHeard(found)).toBe(true);
      expect(Math.abs((found?.levelDb ?? 99) - snrDb)).toBeLessThanOrEqual(3);
    }
  });

  it.each([-300, 300])("follows a clock drift of %i ppm", (driftPpm) => {
    const samples = speech(20, seededRandom(3));
    const sound = { kind: "speech" as const, name: "long", tone: null, samples };
    const { played, recorded } = syntheticRoom(3, { ...quietRoom, sound, driftPpm, snrDb: -12, delayMs: 150 });
    const filter = createMatchedFilter();
    filter.addPlayed(played);
    filter.addRecorded(recorded);
    filter.finish();
    expect(isHeard(filter.detection)).toBe(true);
    expect(Math.abs((filter.detection?.delayMs ?? 0) - 150)).toBeLessThanOrEqual(10);
  });

  it("does not match when a room becomes loud", () => {
    const { played, recorded } = syntheticRoom(5, { ...quietRoom, plays: false, snrDb: 0 });
    const talk = speech(played.length / 8_000, seededRandom(11));
    const louder = recorded.map((sample, n) =>
      n < 8_000 ? sample / 8 : Math.max(-32_768, Math.min(32_767, sample + 20_000 * (talk[n] as number))),
    );
    const found = listenInRoom({ played, recorded: louder });
    expect(found?.pValue).toBeGreaterThan(1e-3);
  });

  // The speech after a tone begins near the end of the first segment, where a door slams.
  it.each([2_000_685, 2_001_811])("does not match a bang while little of the audio plays, in room %i", (seed) => {
    const room = syntheticRoom(seed);
    expect(room.plays).toBe(false);
    expect(listenInRoom(room)?.pValue).toBeGreaterThan(1e-3);
  });

  it("proves nothing with silence or without a recording", () => {
    const { played, recorded } = syntheticRoom(4, { ...quietRoom, snrDb: 20 });
    expect(isHeard(listenInRoom({ played, recorded: new Int16Array(played.length) }))).toBe(false);
    expect(isHeard(listenInRoom({ played: new Int16Array(played.length), recorded }))).toBe(false);
    expect(listenInRoom({ played, recorded: new Int16Array(0) })).toBeNull();
  });
});
