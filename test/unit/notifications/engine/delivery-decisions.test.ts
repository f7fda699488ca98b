import { describe, expect, it } from "vitest";
import { asGiven } from "../../../../src/lib/sentences/sentences.ts";
import type { Delivery } from "../../../../src/notifications/engine/delivery.ts";
import { finish, promote, retryDelayMs } from "../../../../src/notifications/engine/delivery-state.ts";
import { decideResume, type StoredBroadcastState } from "../../../../src/notifications/engine/resume-policy.ts";
import { canStart } from "../../../../src/notifications/engine/sync-start-policy.ts";

describe("the start of the audio", () => {
  const nobody = { phones: 0, phonesJoined: 0, phonesFailed: 0, zones: 0, zonesReady: 0 };
  it.each([
    ["nobody to wait for", {}, true],
    ["95 of 100 phones", { phones: 100, phonesJoined: 95 }, true],
    ["94 of 100 phones", { phones: 100, phonesJoined: 94 }, false],
    ["95 % of those that have not failed", { phones: 100, phonesFailed: 50, phonesJoined: 48 }, true],
    ["all have failed", { phones: 3, phonesFailed: 3 }, true],
    ["phones are there, a zone is not", { phones: 2, phonesJoined: 2, zones: 2, zonesReady: 1 }, false],
    ["phones and zones are there", { phones: 2, phonesJoined: 2, zones: 2, zonesReady: 2 }, true],
  ])("%s", (_title, counts, expected) => {
    expect(canStart({ ...nobody, ...counts })).toBe(expected);
  });
});

describe("resuming a broadcast at 100 s", () => {
  const stored: StoredBroadcastState = {
    t0: null,
    streamEndedAt: null,
    programmeMs: 30_000,
    notAfter: 120,
    emergency: false,
  };
  const at = (values: Partial<Record<keyof StoredBroadcastState, number | boolean | null>>): StoredBroadcastState => {
    const seconds = { ...stored, ...values } as StoredBroadcastState;
    const ms = (value: number | null): number | null => (value === null ? null : value * 1_000);
    return {
      ...seconds,
      t0: ms(seconds.t0),
      streamEndedAt: ms(seconds.streamEndedAt),
      notAfter: seconds.notAfter * 1_000,
    };
  };
  it.each([
    ["new", {}, "begin"],
    ["new, text only", { programmeMs: null }, "begin"],
    ["too late, not begun", { notAfter: 99 }, "interrupted"],
    ["too late, not begun, emergency", { notAfter: 99, emergency: true }, "again"],
    ["in the middle of its sound", { t0: 80 }, "resume"],
    ["in the middle of its sound, too late", { t0: 80, notAfter: 99 }, "interrupted"],
    ["in the middle of its sound, too late, emergency", { t0: 80, notAfter: 99, emergency: true }, "again"],
    ["its sound would be over", { t0: 60 }, "interrupted"],
    ["its sound would be over, emergency", { t0: 60, emergency: true }, "again"],
    ["its sound was over", { t0: 60, streamEndedAt: 90, emergency: true }, "finish"],
    ["text only, too late", { programmeMs: null, notAfter: 99 }, "interrupted"],
    ["text only, too late, emergency", { programmeMs: null, notAfter: 99, emergency: true }, "again"],
  ])("%s", (_title, values, expected) => {
    expect(decideResume(at(values), 100_000)).toBe(expected);
  });
});

describe("a delivery", () => {
  const delivery = (values: Partial<Delivery> = {}): Delivery =>
    ({
      ...{
        pk: 1,
        device: 1,
        userDevice: null,
        provider: "p",
        audioMode: "group",
        priority: 5,
        previouslyFailed: false,
      },
      ...{ level: "planned", reason: null, attempt: 1, earlierAttempts: 0, reached: false, late: false, audible: true },
      ...{
        sentAt: null,
        acceptedAt: null,
        playingAt: null,
        provenAt: null,
        endedAt: null,
        retryAt: null,
        previousProof: null,
      },
      ...{
        dispatchState: "in-flight",
        expiring: false,
        failure: null,
        textOnly: false,
        dispatched: true,
        joinState: "no",
        channelDown: null,
        deviceEvidence: null,
      },
      ...values,
    }) as Delivery;

  it("only rises, and keeps the time of each level", () => {
    const one = delivery();
    expect([
      promote(one, "accepted", 10),
      promote(one, "sent", 20),
      promote(one, "accepted", 30),
      promote(one, "heard", 40),
    ]).toEqual([true, false, false, true]);
    expect(one).toMatchObject({ level: "heard", sentAt: 10, acceptedAt: 10, playingAt: 40, provenAt: 40 });
  });

  it("does not rise after its end", () => {
    const one = delivery();
    finish(one, "failed", asGiven("no answer"), 10);
    expect(promote(one, "playing", 20)).toBe(false);
    expect(one).toMatchObject({ level: "failed", reason: "no answer", endedAt: 10 });
  });

  it.each([
    ["a phone that was asked", { level: "sent" }, "expired"],
    ["a phone that said yes", { level: "accepted" }, "accepted"],
    ["a zone that got our packets", { audioMode: "own", level: "sent" }, "sent"],
    ["a zone that got nothing", { audioMode: "own", level: "planned" }, "expired"],
  ] as const)("keeps what was proven: %s", (_title, values, level) => {
    const one = delivery(values);
    finish(one, "expired", asGiven("over"), 10);
    expect(one.level).toBe(level);
  });

  it.each([
    ["the first time", {}, {}, 1_000],
    ["the second time", { attempt: 2 }, {}, 3_000],
    ["no third time", { attempt: 3 }, {}, null],
    ["longer for an emergency", { attempt: 4, priority: 0 }, {}, 30_000],
    ["tries of earlier runs do not count", { attempt: 5, earlierAttempts: 4 }, {}, 1_000],
    ["not when the channel says it is no use", {}, { retryable: false }, null],
    ["not when it would be too late", {}, { notAfter: 1_500 }, null],
    ["on and on what will pass", { attempt: 3, pk: 64 }, { passing: true }, 6_000],
    ["after growing pauses", { attempt: 5, pk: 64 }, { passing: true }, 24_000],
    ["after a minute at most", { attempt: 30, pk: 64 }, { passing: true }, 60_000],
    ["every half minute for an emergency", { attempt: 30, priority: 0, pk: 64 }, { passing: true }, 30_000],
    ["not all at the same time", { attempt: 30, priority: 0, pk: 32 }, { passing: true }, 33_750],
    ["not what will pass too late", { attempt: 30, pk: 64 }, { passing: true, notAfter: 60_000 }, null],
    ["not what was reached", { level: "accepted" }, {}, null],
    ["as often as it takes without a network", { attempt: 9 }, { retryable: false, noNetwork: true }, 10_000],
    ["not without a network when it would be too late", {}, { noNetwork: true, notAfter: 1_000 }, null],
  ] as const)("is tried again: %s", (_title, values, more, expected) => {
    const { notAfter, ...details } = { retryable: true, notAfter: 1e6, ...more };
    expect(retryDelayMs(delivery(values), details, { now: 1_000, notAfter })).toBe(expected);
  });
});
