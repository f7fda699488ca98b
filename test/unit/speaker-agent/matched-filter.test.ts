import { describe, expect, it } from "vitest";
import { createMatchedFilter } from "../../../src/speaker-agent/matched-filter.ts";
import { isHeard, listenInRoom } from "../../support/listen-in-room.ts";
import { syntheticRoom } from "../../support/synthetic-room.ts";
import { seededRandom, speech } from "../../support/synthetic-sounds.ts";

const spoken = { kind: "speech" as const, name: "speech", samples: speech(6, seededRandom(7)) };
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
    const sound = { kind: "speech" as const, name: "long", samples };
    const { played, recorded } = syntheticRoom(3, { ...quietRoom, sound, driftPpm, snrDb: -12, delayMs: 150 });
    const filter = createMatchedFilter();
    filter.addPlayed(played);
    filter.addRecorded(recorded);
    filter.finish();
    expect(isHeard(filter.detection)).toBe(true);
    expect(Math.abs((filter.detection?.delayMs ?? 0) - 150)).toBeLessThanOrEqual(10);
  });

  it("is not fooled by a room that gets loud", () => {
    const { played, recorded } = syntheticRoom(5, { ...quietRoom, plays: false, snrDb: 0 });
    const talk = speech(played.length / 8_000, seededRandom(11));
    const louder = recorded.map((sample, n) =>
      n < 8_000 ? sample / 8 : Math.max(-32_768, Math.min(32_767, sample + 20_000 * (talk[n] as number))),
    );
    const found = listenInRoom({ played, recorded: louder });
    expect(found?.pValue).toBeGreaterThan(1e-3);
  });

  it("proves nothing with silence or without a recording", () => {
    const { played, recorded } = syntheticRoom(4, { ...quietRoom, snrDb: 20 });
    expect(isHeard(listenInRoom({ played, recorded: new Int16Array(played.length) }))).toBe(false);
    expect(isHeard(listenInRoom({ played: new Int16Array(played.length), recorded }))).toBe(false);
    expect(listenInRoom({ played, recorded: new Int16Array(0) })).toBeNull();
  });
});
