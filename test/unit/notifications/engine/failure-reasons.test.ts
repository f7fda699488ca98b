import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OutcomeDetails, OutcomeLevel } from "../../../../src/plugin-api/index.ts";
import devices from "../../../../src/resources/devices/devices.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import { ONE, openStories, type Stories, TWO } from "./delivery-scene.ts";
import { sounding } from "./engine-fixture.ts";

let stories: Stories;
beforeEach(async () => {
  stories = await openStories();
});
afterEach(() => stories.close());

const rowOf = (id: string, identifier: string) =>
  stories.fixture.store.find(deliveries, { notificationId: id, deviceIdentifier: identifier })[0];

/** What a channel may say of a retry that comes when the audio is over. */
const LATE: readonly [string, { level: OutcomeLevel; details: OutcomeDetails }][] = [
  ["skips it", { level: "skipped", details: { reason: "it is only called for audio" } }],
  ["cannot show it", { level: "failed", details: { reason: "a zone has no display", unsupported: true } }],
  ["gives it back", { level: "expired", details: { reason: "expired before the call" } }],
];
const FAILURES = [
  "no response",
  "in use (486 Busy Here)",
  "server unavailable (503 Service Unavailable)",
  "not registered or unreachable (480 Temporarily Unavailable)",
  "no response (408 Request Timeout)",
  "ringing, but no auto-answer",
  "hung up immediately",
  "TLS: certificate has expired",
  "connect ECONNREFUSED 127.0.0.1:19871",
  "bind EADDRINUSE 127.0.0.1:40000",
  "agent not connected",
];

describe("a device that failed while there was audio", () => {
  it.each(FAILURES.flatMap((reason) => LATE.map(([title, ofText]) => [reason, title, ofText] as const)))(
    "has failed: %s, also when its channel afterwards %s",
    async (reason, _title, ofText) => {
      stories.manners(ONE, { fails: { reason, retryable: true }, ofText });
      const id = await stories.play({}, 500);
      await stories.air.untilSettled(id);
      expect(stories.row(id, ONE)).toMatchObject({ level: "failed", reason });
      expect(stories.row(id, ONE)?.attempt).toBeGreaterThan(1);
    },
  );

  it("reports the reason of the last attempt", async () => {
    stories.manners(ONE, { fails: { reason: "no response", retryable: true, times: 1 } });
    const id = await stories.play({}, 8_000);
    await stories.fixture.clock.advance(500);
    stories.manners(ONE, { fails: { reason: "in use (486 Busy Here)", retryable: true } });
    await stories.air.untilSettled(id);
    expect(stories.row(id, ONE)).toMatchObject({ level: "failed", reason: "in use (486 Busy Here)" });
  });

  it("keeps the reason when the message is ended, and when the device stays silent afterwards", async () => {
    for (const identifier of [ONE, TWO])
      stories.manners(identifier, { fails: { reason: "no response", retryable: true, times: 1 } });
    const id = await stories.play({}, 8_000);
    await stories.fixture.clock.advance(500);
    stories.manners(TWO, { answersAfterMs: null });
    await stories.fixture.clock.advance(1_000);
    await stories.air.notificationService.abort(id, stories.fixture.by);
    await stories.air.untilSettled(id);
    expect(stories.row(id, TWO)).toMatchObject({ level: "failed", reason: "no response" });
  });

  it("counts as reached after a later attempt, without the reason", async () => {
    stories.manners(ONE, { fails: { reason: "no response", retryable: true, times: 1 } });
    const id = await stories.play();
    await stories.air.untilSettled(id);
    expect(stories.row(id, ONE)).toMatchObject({ level: "playing", reason: null });
  });

  it("keeps the reason over a crash", async () => {
    stories.manners(ONE, {
      fails: { reason: "in use (486 Busy Here)", retryable: true, times: 1 },
      ofText: { level: "skipped", details: { reason: "it is only called for audio" } },
    });
    const id = await stories.play({}, 500);
    await stories.fixture.clock.advance(600);
    stories.air.crash();
    await stories.fixture.clock.advance(2_000);
    await stories.air.restart();
    await stories.air.untilSettled(id);
    expect(stories.row(id, ONE)).toMatchObject({ level: "failed", reason: "in use (486 Busy Here)" });
  });
});

describe("a device that the appliance did not contact in time", () => {
  const play = async (ofStop: { level: OutcomeLevel; details: OutcomeDetails }) => {
    stories.manners(ONE, { answersAfterMs: null, ofStop });
    const id = await stories.play({ priority: "critical" });
    await stories.air.untilSettled(id, 180_000);
    return { row: stories.row(id, ONE), device: stories.device(ONE) };
  };

  it("does not count as unresponsive", async () => {
    const { row, device } = await play({
      level: "expired",
      details: { reason: "the message expired before the call", inconclusive: true },
    });
    expect(row).toMatchObject({ level: "expired", reason: "the message expired before the call" });
    expect(device?.state).not.toBe("silent");
  });

  it("expires, although its channel calls that skipped", async () => {
    const { row } = await play({ level: "skipped", details: { reason: "cancelled before the device was contacted" } });
    expect(row).toMatchObject({ level: "expired", reason: "cancelled before the device was contacted" });
  });
});

it("takes a device that was asked and did not answer for silent", async () => {
  stories.manners(ONE, { answersAfterMs: null });
  const id = await stories.air.send({ subject: "Text", deviceGroupIds: [stories.everywhere] });
  await stories.air.untilSettled(id, 400_000);
  expect(stories.row(id, ONE)?.level).toBe("expired");
  expect(stories.fixture.store.find(devices, { deviceIdentifier: ONE })[0]?.state).toBe("silent");
});

it.each([
  ["inconclusive", { inconclusive: true }],
  ["no display", { unsupported: true }],
])("does not take a device for silent after a failure that says nothing about it: %s", async (_title, flags) => {
  stories.manners(ONE, { fails: { reason: "in use", retryable: false, ...flags } });
  const id = await stories.play();
  await stories.air.untilSettled(id);
  expect(stories.row(id, ONE)).toMatchObject({ level: "failed", reason: "in use" });
  expect(stories.device(ONE)?.state).not.toBe("silent");
});

describe("text only", () => {
  it("means a phone that shows a message without audio", async () => {
    const id = await stories.air.send({ subject: "Text", deviceGroupIds: [stories.everywhere] });
    await stories.air.untilSettled(id);
    expect(rowOf(id, ONE)).toMatchObject({ level: "accepted", textOnly: true });
  });

  it("excludes phones that play and zones that received packets", async () => {
    const id = await stories.play();
    await stories.air.untilSettled(id);
    expect(rowOf(id, ONE)).toMatchObject({ level: "playing", textOnly: false });
    expect(rowOf(id, "zone:gym1")).toMatchObject({ level: "sent", textOnly: false });
  });

  it("includes phones that answered after the audio", async () => {
    stories.manners(ONE, { fails: { reason: "no response", retryable: true, times: 2 } });
    const id = await stories.air.send({ subject: "Bell", ...sounding(500), deviceGroupIds: [stories.phonesOnly] });
    await stories.air.untilSettled(id);
    expect(rowOf(id, ONE)).toMatchObject({ level: "accepted", textOnly: true, late: true });
  });
});
