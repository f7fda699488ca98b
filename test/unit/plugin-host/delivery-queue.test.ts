import { describe, expect, it } from "vitest";
import { asGiven } from "../../../src/lib/sentences/sentences.ts";
import type { DeliveryOutcome } from "../../../src/notifications/engine/delivery-providers.ts";
import type { DeliveryItem, OutcomeLevel } from "../../../src/plugin-api/index.ts";
import { createDeliveryQueue } from "../../../src/plugin-host/delivery-queue.ts";
import type { OutcomeReport, ToPlugin } from "../../../src/plugin-host/plugin-protocol.ts";
import { itemOf } from "../../plugins/test-appliance.ts";
import { createFakeClock, FAKE_CLOCK_START } from "../../support/fake-clock.ts";

const AUDIO = { group: "239.255.77.1", port: 20_480, codec: "PCMU", ttl: 1, ssrc: 1 } as const;

function open(maxUnacknowledged = 1_000) {
  const clock = createFakeClock();
  const sent: ToPlugin[] = [];
  const outcomes: DeliveryOutcome[] = [];
  const handOver = createDeliveryQueue({
    plugin: "p",
    clock,
    maxUnacknowledged,
    calls: false,
    send: (message) => void sent.push(message),
    onOutcomes: (news) => void outcomes.push(...news),
  });
  const batches = (): DeliveryItem[][] =>
    sent.splice(0).flatMap((message) => (message.kind === "deliver" ? [message.items] : []));
  return {
    clock,
    handOver,
    sent,
    outcomes,
    batches,
    /** Ids of what was handed over since the last look. */
    ids: (): number[] => batches().flatMap((batch) => batch.map(({ deliveryId }) => deliveryId)),
  };
}

const sounding = (deliveryId: number, of: Partial<DeliveryItem> = {}) => itemOf(deliveryId, { audio: AUDIO, ...of });
const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => sounding(from + at));
const note = (deliveryId: number, level: OutcomeLevel): OutcomeReport => ({ deliveryId, level, details: {}, at: 1 });

describe("delivery queue", () => {
  it("sends batches of at most 200", () => {
    const { handOver, batches } = open();
    handOver.resume();
    handOver.add(many(1, 450));
    expect(batches().map((batch) => batch.length)).toEqual([200, 200, 50]);
  });

  it("respects the window, oldest first", () => {
    const { handOver, ids } = open(3);
    handOver.resume();
    handOver.add(many(1, 6));
    expect(ids()).toEqual([1, 2, 3]);
    handOver.report([note(2, "accepted")]);
    expect(ids()).toEqual([4]);
    handOver.report([note(2, "playing"), note(1, "sent"), note(3, "failed"), note(99, "failed")]);
    expect(ids()).toEqual([5, 6]);
  });

  it("has a separate window for emergencies, which go first", () => {
    const { handOver, ids } = open(2);
    handOver.resume();
    const urgent = (deliveryId: number) => sounding(deliveryId, { class: "emergency" });
    handOver.add([...many(1, 4), urgent(11), urgent(12), urgent(13)]);
    expect(ids()).toEqual([11, 12, 1, 2]);
    handOver.report([note(1, "accepted"), note(12, "accepted")]);
    expect(ids()).toEqual([13, 3]);
  });

  it("returns reports as outcomes, including those of unknown deliveries", () => {
    const { handOver } = open();
    expect(handOver.report([note(9, "heard")])).toEqual([
      { provider: "p", deliveryId: 9, level: "heard", details: {}, at: 1 },
    ]);
  });

  it("waits while the plugin is not running", () => {
    const { handOver, ids } = open();
    handOver.add(many(1, 2));
    expect(ids()).toEqual([]);
    handOver.resume();
    expect(ids()).toEqual([1, 2]);
  });

  it("drops finished deliveries: final levels, accepted texts, cancelled ones", () => {
    const { handOver } = open();
    handOver.resume();
    handOver.add([...many(1, 5), itemOf(6), itemOf(7)]);
    handOver.report([note(1, "failed"), note(2, "skipped"), note(3, "expired"), note(4, "confirmed")]);
    handOver.report([note(5, "playing"), note(6, "accepted"), note(7, "sent")]);
    expect(handOver.size).toBe(2);
    handOver.cancel({ deliveryIds: [5, 7], reason: "ended" });
    expect(handOver.size).toBe(0);
    handOver.add([itemOf(8)]);
    expect(handOver.report([{ ...note(8, "sent"), details: { last: true } }])).toMatchObject([{ isLast: true }]);
    expect(handOver.size).toBe(0);
  });

  it("replaces an earlier copy of a delivery", () => {
    const { handOver, batches } = open(2);
    handOver.resume();
    handOver.add([sounding(1)]);
    batches();
    handOver.add([sounding(1, { attempt: 2 }), sounding(2)]);
    expect(batches().flatMap((batch) => batch.map(({ deliveryId, attempt }) => [deliveryId, attempt]))).toEqual([
      [1, 2],
      [2, 1],
    ]);
    expect(handOver.size).toBe(2);
  });

  it("drops deliveries that are never ended", async () => {
    const { clock, handOver } = open();
    handOver.resume();
    handOver.add([sounding(1, { notAfter: FAKE_CLOCK_START + 1_000 })]);
    handOver.report([note(1, "playing")]);
    await clock.advance(3_602_000);
    handOver.add([sounding(2)]);
    expect(handOver.size).toBe(1);
  });
});

describe("the next run of a plugin", () => {
  it("gets follow-ups first, then unfinished deliveries as another attempt", () => {
    const { handOver, batches } = open();
    handOver.resume();
    handOver.add(many(1, 4));
    handOver.report([note(2, "accepted"), note(4, "sent"), note(4, "playing"), note(4, "accepted")]);
    batches();
    handOver.pause();
    handOver.add([sounding(5)]);
    handOver.resume();
    expect(
      batches()
        .flat()
        .map(({ deliveryId, attempt, reached }) => [deliveryId, attempt, reached]),
    ).toEqual([
      [2, 1, "accepted"],
      [4, 1, "playing"],
      [1, 2, undefined],
      [3, 2, undefined],
      [5, 1, undefined],
    ]);
  });

  it("does not count reached deliveries against the window", () => {
    const { handOver, ids } = open(2);
    handOver.resume();
    handOver.add(many(1, 3));
    handOver.report([note(1, "accepted")]);
    handOver.pause();
    ids();
    handOver.add(many(4, 5));
    handOver.resume();
    expect(ids()).toEqual([1, 2, 3]);
    handOver.report([note(1, "playing")]);
    expect(ids()).toEqual([]);
    handOver.report([note(2, "failed")]);
    expect(ids()).toEqual([4]);
  });

  it("only follows up deliveries reached before a restart of the appliance", () => {
    const { handOver, batches } = open(1);
    handOver.resume();
    handOver.add([sounding(1, { reached: "accepted" }), sounding(2)]);
    expect(
      batches()
        .flat()
        .map(({ reached }) => reached),
    ).toEqual(["accepted", undefined]);
  });

  it("expires useless deliveries with a reason", async () => {
    const { clock, handOver, ids, outcomes } = open();
    handOver.add([sounding(1, { notAfter: FAKE_CLOCK_START + 500 }), sounding(2)]);
    await clock.advance(500);
    handOver.resume();
    expect(ids()).toEqual([2]);
    expect(outcomes).toMatchObject([
      { deliveryId: 1, level: "expired", details: { reason: "p was not running in time" } },
    ]);
  });

  it("silences deliveries cancelled while it was down, without resending", () => {
    const { handOver, sent } = open();
    handOver.resume();
    handOver.add(many(1, 2));
    handOver.report([note(1, "playing")]);
    handOver.pause();
    handOver.add([sounding(3)]);
    sent.splice(0);
    handOver.cancel({ deliveryIds: [1, 2, 3, 4], reason: "aborted" });
    expect(handOver.size).toBe(2);
    handOver.resume();
    expect(sent).toMatchObject([
      {
        kind: "deliver",
        items: [
          { deliveryId: 1, reached: "playing" },
          { deliveryId: 2, reached: "sent" },
        ],
      },
      { kind: "stop", request: { deliveryIds: [1, 2], reason: "aborted" } },
    ]);
    expect(handOver.size).toBe(0);
  });

  it("fails a delivery that crashed three runs", () => {
    const { handOver, outcomes } = open();
    handOver.add([sounding(1)]);
    for (let run = 0; run < 3; run++) {
      expect(outcomes).toEqual([]);
      handOver.resume();
      handOver.pause();
    }
    expect(outcomes).toMatchObject([{ deliveryId: 1, level: "failed" }]);
    expect(handOver.size).toBe(0);
  });
});

describe("failing all deliveries", () => {
  it("fails unreached deliveries and says that the channel is down", () => {
    const { handOver, outcomes } = open();
    handOver.resume();
    const other = "0190a1b2-0000-7000-8000-000000000009";
    handOver.add([...many(1, 3), sounding(4, { notificationId: other })]);
    handOver.report([note(1, "accepted")]);
    handOver.pause();
    handOver.failAll(asGiven("it is off"));
    expect(outcomes.every(({ details }) => details.channelDown)).toBe(true);
    expect(outcomes.map(({ deliveryId, level, details }) => [deliveryId, level, details.reason])).toEqual([
      [2, "failed", "it is off"],
      [3, "failed", "it is off"],
      [4, "failed", "it is off"],
    ]);
    expect(handOver.size).toBe(0);
  });
});
