import { describe, expect, it } from "vitest";
import en from "../../../../src/console/web/i18n/en.json" with { type: "json" };
import { DELIVERY_LEVELS, type DeliveryLevel } from "../../../../src/resources/notifications/delivery-levels.ts";
import {
  DEVICE_OUTCOMES,
  deviceOutcome,
  OUTCOME_NAMES,
  OUTCOME_TONES,
  outcomeTotal,
  REACH_VERDICTS,
  VERDICT_NAMES,
  VERDICT_TONES,
} from "../../../../src/resources/notifications/device-outcomes.ts";
import {
  countOutcomes,
  outcomeFilter,
  reachVerdict,
  sumOutcomes,
} from "../../../../src/resources/notifications/outcome-counts.ts";

const counts = (devices: Partial<Record<DeliveryLevel | "text", number>>) =>
  countOutcomes(
    Object.entries(devices).map(([level, n]) =>
      level === "text"
        ? { level: "accepted", textOnly: true, n }
        : { level: level as DeliveryLevel, textOnly: false, n },
    ),
  );

describe("the outcome of a device", () => {
  it.each([
    ["planned", false, "waiting", ""],
    ["sent", false, "noReceipt", "info"],
    ["accepted", false, "noReceipt", "info"],
    ["accepted", true, "textOnly", "warn"],
    ["playing", false, "played", "good"],
    ["playing", true, "textOnly", "warn"],
    ["heard", false, "heard", "good"],
    ["confirmed", false, "heard", "good"],
    ["confirmed", true, "heard", "good"],
    ["failed", false, "notReached", "bad"],
    ["failed", true, "notReached", "bad"],
    ["expired", false, "notReached", "bad"],
    ["skipped", false, "skipped", "muted"],
  ] as const)("%s, text only %s: %s, %s", (level, textOnly, outcome, tone) => {
    expect(deviceOutcome({ level, textOnly })).toBe(outcome);
    expect(OUTCOME_TONES[outcome]).toBe(tone);
  });

  it("is green only where the device or a person proved that it was heard", () => {
    expect(DEVICE_OUTCOMES.filter((outcome) => OUTCOME_TONES[outcome] === "good")).toEqual(["heard", "played"]);
  });

  it("is found again by its filter: each delivery under exactly one outcome", () => {
    for (const level of DELIVERY_LEVELS)
      for (const textOnly of [false, true]) {
        const found = DEVICE_OUTCOMES.filter((outcome) => {
          const filter = outcomeFilter(outcome);
          return filter.levels.includes(level) && (filter.textOnly ?? textOnly) === textOnly;
        });
        expect(found, `${level} ${textOnly}`).toEqual([deviceOutcome({ level, textOnly })]);
      }
  });
});

describe("a set of devices", () => {
  it.each([
    [{}, "reachedNone", "bad"],
    [{ failed: 399 }, "reachedNone", "bad"],
    [{ failed: 390, expired: 9 }, "reachedNone", "bad"],
    [{ failed: 398, skipped: 1 }, "reachedNone", "bad"],
    [{ failed: 398, playing: 1 }, "reachedPartly", "warn"],
    [{ failed: 1, sent: 398 }, "reachedPartly", "warn"],
    [{ failed: 1, planned: 398 }, "reachedPartly", "warn"],
    [{ playing: 390, heard: 9 }, "reached", "good"],
    [{ playing: 390, skipped: 9 }, "reached", "good"],
    [{ playing: 390, planned: 9 }, "waiting", ""],
    [{ planned: 9 }, "waiting", ""],
    [{ sent: 9 }, "noReceipt", "info"],
    [{ accepted: 9 }, "noReceipt", "info"],
    [{ sent: 9, playing: 1 }, "partlyNoReceipt", "info"],
    [{ text: 9 }, "textOnly", "warn"],
    [{ text: 9, playing: 1 }, "partlyTextOnly", "warn"],
    [{ text: 9, sent: 1 }, "partlyTextOnly", "warn"],
    [{ skipped: 399 }, "skipped", "muted"],
  ] as const)("%o: %s, %s", (devices, verdict, tone) => {
    expect(reachVerdict(counts(devices))).toBe(verdict);
    expect(VERDICT_TONES[verdict]).toBe(tone);
  });

  it("is summed up over rooms as over its devices", () => {
    const rooms = [counts({ playing: 2 }), counts({ failed: 1 }), counts({ text: 4, skipped: 1 })];
    const building = sumOutcomes(rooms);
    expect(building).toEqual(counts({ playing: 2, failed: 1, text: 4, skipped: 1 }));
    expect(outcomeTotal(building)).toBe(8);
    expect(reachVerdict(building)).toBe("reachedPartly");
  });
});

it("has the names of the console on the command line", () => {
  const texts = en as Record<string, string>;
  for (const outcome of DEVICE_OUTCOMES) expect(OUTCOME_NAMES[outcome]).toBe(texts[`outcome.${outcome}`]);
  for (const verdict of REACH_VERDICTS) expect(VERDICT_NAMES[verdict]).toBe(texts[`verdict.${verdict}`]);
});
