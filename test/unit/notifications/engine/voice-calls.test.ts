import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { createTextToSpeechEngine } from "../../../../src/media/text-to-speech.ts";
import { createSpeechSynthesizer } from "../../../../src/notifications/compose/speech-synthesis.ts";
import type { OutcomeDetails, OutcomeLevel } from "../../../../src/plugin-api/index.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { createTtsProgramStub } from "../../../support/tts-program-stub.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";
import { type AirFixture, openAir, sounding } from "./engine-fixture.ts";

let fixture: BroadcastFixture;
let air: AirFixture;
let userIds: string[];
beforeEach(async () => {
  fixture = await openBroadcasts();
  userIds = [await fixture.user("Fay")];
  const channel = { name: "Calls", type: "device", deviceType: "phone-call" };
  await fixture.store.create(extensions, channel, fixture.by, { plugin: "calls" });
  await fixture.create(userDevices, { userId: userIds[0], type: "phone-call", deviceIdentifier: "+4930123456" });
  air = await openAir(fixture);
  air.channels.manners.set("+4930123456", { answersAfterMs: null });
});
afterEach(async () => {
  await air.notificationService.stop();
  await fixture.close();
});

const given = () => air.channels.given.flatMap(({ items }) => items);
const tell = async (level: OutcomeLevel, details: OutcomeDetails & { isLast?: boolean } = {}) => {
  const { isLast, ...rest } = details;
  const deliveryId = given().at(-1)?.deliveryId ?? 0;
  const at = fixture.clock.now();
  air.notificationService.handleOutcomes([
    { provider: "calls", deliveryId, level, details: rest, at, ...(isLast ? { isLast } : {}) },
  ]);
  await air.until(() => false, 20);
};

describe("a call to a person", () => {
  it("continues after the answer and the message's audio until the channel ends it", async () => {
    const id = await air.send({ subject: "Fire", ...sounding(4_000), userIds });
    await tell("sent");
    await tell("accepted");
    await fixture.clock.advance(60_000);
    expect(air.rows(id)).toMatchObject([{ level: "accepted", ended: false }]);
    await tell("accepted", { isLast: true, reason: "Nobody pressed a key." });
    await air.untilSettled(id);
    expect(air.rows(id)).toMatchObject([{ level: "accepted", ended: true, reason: "Nobody pressed a key." }]);
  });

  it("ends with an answer, or with the message", async () => {
    const [answered, ended] = [await air.send({ subject: "A", userIds }), await air.send({ subject: "B", userIds })];
    await tell("accepted");
    await air.notificationService.abort(ended, fixture.by);
    await air.untilSettled(ended);
    expect(air.rows(ended)).toMatchObject([{ level: "accepted", reason: "The message was ended by a user." }]);
    const { deliveryId } = given()[0] ?? { deliveryId: 0 };
    expect(air.channels.stopped.at(-1)?.request).toEqual({ deliveryIds: [deliveryId + 1], reason: "aborted" });
    air.notificationService.handleOutcomes([{ provider: "calls", deliveryId, level: "confirmed", details: {}, at: 1 }]);
    await air.untilSettled(answered);
    expect(air.rows(answered)).toMatchObject([{ level: "confirmed", ended: true }]);
  });

  it("is retried after the channel's delay, longer than devices are asked", async () => {
    const id = await air.send({ subject: "Fire", userIds });
    for (const attempt of [1, 2]) {
      expect(given()).toHaveLength(attempt);
      await tell("failed", { reason: "the line is busy", retryable: true, retryAfterMs: 120_000 });
      await fixture.clock.advance(119_000);
      expect(given()).toHaveLength(attempt);
      await fixture.clock.advance(2_000);
    }
    await tell("failed", { reason: "the line is busy", retryable: true, retryAfterMs: 120_000 });
    await air.untilSettled(id);
    expect(air.rows(id)).toMatchObject([{ level: "failed", attempt: 3, reason: "the line is busy" }]);
  });

  it("waits half an hour at most", async () => {
    const id = await air.send({ subject: "Fire", userIds });
    expect((given()[0]?.notAfter ?? 0) - fixture.clock.now()).toBe(30 * 60_000);
    await fixture.clock.advance(29 * 60_000);
    expect(air.rows(id)).toMatchObject([{ level: "planned", ended: false }]);
    await fixture.clock.advance(2 * 60_000);
    expect(air.rows(id)).toMatchObject([{ level: "expired", ended: true }]);
  });
});

describe("speech in calls", () => {
  const target = { group: "127.0.0.1", port: 4_000, codec: "PCMU", ssrc: 7, sourcePort: 4_002 } as const;
  const parts = [{ text: "This is a call." }, { message: true as const }, { pauseMs: 1_000 }];

  async function speaking(): Promise<() => string> {
    const { program, said } = createTtsProgramStub();
    const speech = createSpeechSynthesizer({
      store: fixture.store,
      engine: createTextToSpeechEngine(systemClock, program),
      by: fixture.by,
    });
    await speech.start();
    fixture.needs.speech = speech;
    await air.notificationService.stop();
    air = await openAir(fixture);
    return () => readFileSync(said, "utf8");
  }

  it("includes prompts and message, rendered once and played from the beginning in each call", async () => {
    const said = await speaking();
    const { voiceCalls } = air.notificationService;
    const { id } = await fixture.send({ subject: "Fire", body: "Leave now", drill: true, draft: true, userIds });
    expect(await voiceCalls.prepare(parts, id)).toBe(2_000);
    await voiceCalls.open("calls", target);
    expect(air.streamer.streams.at(-1)?.spec).toMatchObject({
      port: 4_000,
      sourcePort: 4_002,
      ssrc: 7,
      repeats: Infinity,
    });
    expect(await voiceCalls.say("calls", target, parts, id)).toBe(2_000);
    await voiceCalls.say("calls", target, parts, id);
    expect(said().match(/Leave now/g)).toHaveLength(1);
    expect(said()).toContain("Fire. Leave now.");
    const [first, again] = air.streamer.played;
    expect(first?.parts.map(({ length }) => length)).toEqual([4_000, 4_000, 8_000]);
    expect(again).toEqual(first);
    voiceCalls.close("calls", target);
    expect(air.streamer.streams.at(-1)?.ended).toBe("stopped");
    await expect(voiceCalls.say("calls", target, parts, id)).rejects.toThrow("The call has ended.");
  });

  it("ends with the channel that placed the call", async () => {
    await air.notificationService.voiceCalls.open("calls", target);
    fixture.needs.events.emit("plugin.changed", { plugin: "calls", state: "restarting", reason: null });
    expect(air.streamer.streams.at(-1)?.ended).toBe("stopped");
  });

  it("is rejected for a missing message, and without a speech engine", async () => {
    const { voiceCalls } = air.notificationService;
    await expect(voiceCalls.prepare(parts, "0190aaaa-0000-7000-8000-000000000000")).rejects.toThrow(
      "Message not found",
    );
    const { id } = await fixture.send({ subject: "Fire", draft: true, userIds });
    await expect(voiceCalls.prepare(parts, id)).rejects.toThrow("No speech engine is available.");
  });
});
