import { generateKeyPairSync } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/apple-push/index.ts";
import type { DeliveryItem } from "../../src/plugin-api/index.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { type ApnsRequest, type ApnsScriptedResponse, openTestApnsServer, type TestApnsServer } from "./apns-server.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { itemOf } from "./test-appliance.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(
  answer?: (sent: ApnsRequest, count: number) => ApnsScriptedResponse,
  more: object = {},
  { takes, clock }: { takes?: number; clock?: FakeClock } = {},
): Promise<{ service: TestApnsServer; push: InlinePlugin }> {
  const service = await openTestApnsServer(answer, takes);
  closing.push(service.close);
  const push = await runInline(plugin, { config: { ...service.config, ...more }, ...(clock && { clock }) });
  closing.push(() => push.close());
  return { service, push };
}

function pushTo(deliveryId: number, of: Partial<DeliveryItem> = {}, type = "apns"): DeliveryItem {
  const device = {
    id: "0198f3a0-0000-7000-8000-00000000f00b",
    deviceIdentifier: deliveryId.toString(16).padStart(64, "0"),
    attributes: { Type: type, ClientIdentifier: "" },
  };
  return itemOf(deliveryId, { device, ...of });
}

describe("apple-push", () => {
  it("reuses one connection and token, marks emergencies critical, and reconnects", async () => {
    const { service, push } = await open();
    const answers = { options: ["Safe"], url: "https://bells.example.org/answer/00ff" };
    const recipient = { id: "0198f3a0-0000-7000-8000-00000000aaaa", name: "Ann", answers };
    const text = { subject: "Fire", body: "ä€😀".repeat(2_000), short: "" };
    const emergency = { class: "emergency", text, recipient } as const;
    const until = Date.now() + 600_000;
    push.deliver(
      pushTo(1, { ...emergency, expiresAt: until }),
      pushTo(2, { ...emergency, drill: true, text: { ...text, subject: "DRILL: Fire" } }),
      pushTo(3),
    );
    await Promise.all([1, 2, 3].map((id) => push.outcome(id, "accepted")));
    const [urgent, drill, routine] = [1, 2, 3].map((id) =>
      service.sent.find(({ deviceToken }) => Number.parseInt(deviceToken, 16) === id),
    ) as [ApnsRequest, ApnsRequest, ApnsRequest];
    expect(urgent.payload).toMatchObject({
      aps: {
        alert: { title: "Fire", body: expect.stringMatching(/…$/) },
        sound: { critical: 1, volume: 1 },
        "interruption-level": "critical",
      },
      ...{ emergency: true, answerUrl: answers.url },
    });
    expect(urgent.bytes).toBeGreaterThan(3_600);
    expect(urgent.headers).toMatchObject({
      "apns-expiration": String(Math.ceil(until / 1_000)),
      "apns-collapse-id": pushTo(1).notificationId,
    });
    expect(drill.payload.aps).toMatchObject({ sound: "default", "interruption-level": "time-sensitive" });
    expect(drill.payload.aps.alert.title).toBe("DRILL: Fire");
    expect(routine.payload.aps["interruption-level"]).toBe("active");
    expect(new Set(service.sent.map(({ headers }) => headers.authorization)).size).toBe(1);
    expect(service.connections()).toBe(1);
    push.deliver(pushTo(4, {}, "apns-sandbox"));
    await push.outcome(4, "accepted");
    expect(service.connections()).toBe(2);
    service.goAway();
    push.deliver(pushTo(5));
    await push.outcome(5, "accepted");
    expect(service.connections()).toBe(3);
  });

  it.each([
    [410, "Unregistered", {}, { gone: true, retryable: false }, "ok"],
    [400, "BadDeviceToken", {}, { gone: false, retryable: false }, "ok"],
    [400, "DeviceTokenNotForTopic", {}, { gone: false, retryable: false }, "ok"],
    [400, "BadMessageId", {}, { retryable: false }, "ok"],
    [403, "InvalidProviderToken", {}, { retryable: false }, "down"],
    [403, "ExpiredProviderToken", {}, { retryable: true }, "down"],
    [429, "TooManyRequests", { "retry-after": "7" }, { retryable: true, retryAfterMs: 7_000 }, "ok"],
    [503, "Shutdown", {}, { retryable: true }, "down"],
  ])("interprets %s %s", async (status, reason, headers, details, state) => {
    const { push } = await open(() => ({ status, reason, headers: headers as Record<string, string> }));
    push.deliver(pushTo(1));
    const failed = await push.outcome(1, "failed");
    expect({ gone: false, ...failed.details }).toMatchObject({ ...details, reason: expect.stringContaining(reason) });
    expect(push.statuses.at(-1)?.state).toBe(state);
  });

  it("respects the stream limit and reconnects after a minute of inactivity", async () => {
    const clock = createFakeClock(Date.now());
    const { service, push } = await open(undefined, {}, { takes: 1, clock });
    const sent = (count: number) => expect.poll(() => service.sent.length, { timeout: 90_000 }).toBe(count);
    push.deliver(...[1, 2, 3, 4, 5, 6].map((id) => pushTo(id)));
    await sent(6);
    expect(service.connections()).toBe(1);
    await clock.advance(61_000);
    push.deliver(pushTo(7));
    await sent(7);
    expect(service.connections()).toBe(2);
  });

  it("rejects other CAs, reports a refused key and missing configuration", async () => {
    const { push: careful } = await open(undefined, { certificateAuthority: null });
    careful.deliver(pushTo(1));
    expect((await careful.outcome(1, "failed")).details).toMatchObject({ retryable: true });
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const { push: strange } = await open(undefined, { key: other.export({ type: "pkcs8", format: "pem" }) });
    strange.deliver(pushTo(1), itemOf(2));
    expect((await strange.outcome(1, "failed")).details.reason).toContain("InvalidProviderToken");
    expect((await strange.outcome(2, "failed")).details.reason).toContain("must be an APNs device token");
    expect(strange.statuses.at(-1)?.state).toBe("down");
    const { push: bare } = await open(undefined, { key: "no key" });
    expect(bare.statuses.at(-1)).toMatchObject({ state: "unconfigured" });
  });
});
