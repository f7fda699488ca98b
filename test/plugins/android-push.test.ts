import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/android-push/index.ts";
import type { DeliveryItem } from "../../src/plugin-api/index.ts";
import { type FcmRequest, type FcmScriptedResponse, openTestFcmServer, type TestFcmServer } from "./fcm-server.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { itemOf } from "./test-appliance.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(
  answer?: (sent: FcmRequest, count: number) => FcmScriptedResponse,
  knows = true,
): Promise<{ service: TestFcmServer; push: InlinePlugin }> {
  const service = await openTestFcmServer(answer, knows);
  closing.push(service.close);
  const { address, serviceAccount } = service;
  const config = { address, serviceAccount, atOnce: 40 };
  const push = await runInline(plugin, { config, allowedTargets: ["127.0.0.0/8"] });
  closing.push(() => push.close());
  return { service, push };
}

function pushTo(deliveryId: number, of: Partial<DeliveryItem> = {}): DeliveryItem {
  const device = {
    id: "0198f3a0-0000-7000-8000-00000000f00b",
    deviceIdentifier: `registration-token:${deliveryId}`,
    attributes: { Type: "Android", ClientIdentifier: "" },
  };
  return itemOf(deliveryId, { device, ...of });
}

const error = (status: string, errorCode?: string) => ({
  error: { status, message: "a reason", ...(errorCode ? { details: [{ "@type": "x", errorCode }] } : {}) },
});

describe("android-push", () => {
  it("reuses one access token, sets the priority, and renews an expired token", async () => {
    const { service, push } = await open();
    const answers = { options: ["Safe"], url: "https://bells.example.org/answer/00ff" };
    const recipient = { id: "0198f3a0-0000-7000-8000-00000000aaaa", name: "Ann", answers };
    const text = { subject: "Fire", body: "ä€😀".repeat(2_000), short: "" };
    push.deliver(
      pushTo(1, { class: "emergency", text, recipient, expiresAt: Date.now() + 600_000 }),
      pushTo(2, { drill: true, text: { subject: "DRILL: Test", body: "", short: "" } }),
    );
    await Promise.all([push.outcome(1, "accepted"), push.outcome(2, "accepted")]);
    const [urgent, drill] = [1, 2].map((id) =>
      service.sent.find(({ message }) => message.token === `registration-token:${id}`),
    ) as [FcmRequest, FcmRequest];
    expect(urgent.message).toMatchObject({
      notification: { title: "Fire", body: expect.stringMatching(/…$/) },
      data: { emergency: "true", drill: "false", answerUrl: answers.url },
      android: { priority: "HIGH", notification: { channel_id: "emergency", notification_priority: "PRIORITY_MAX" } },
    });
    expect(urgent.bytes).toBeLessThanOrEqual(4_000);
    expect(Number.parseInt(urgent.message.android.ttl, 10)).toBeGreaterThan(590);
    expect(drill.message).toMatchObject({ notification: { title: "DRILL: Test" }, android: { ttl: "86400s" } });
    expect(Object.values(drill.message.data).every((value) => typeof value === "string")).toBe(true);
    expect(service.tokens()).toBe(1);
    service.revoke();
    push.deliver(pushTo(3));
    expect((await push.outcome(3, "failed")).details).toMatchObject({ retryable: true });
  });

  it.each([
    [404, error("NOT_FOUND", "UNREGISTERED"), {}, { gone: true, retryable: false }, "ok"],
    [404, error("NOT_FOUND"), {}, { gone: false, retryable: false }, "ok"],
    [400, error("INVALID_ARGUMENT", "INVALID_ARGUMENT"), {}, { retryable: false }, "ok"],
    [403, error("PERMISSION_DENIED", "SENDER_ID_MISMATCH"), {}, { retryable: false }, "ok"],
    [403, error("PERMISSION_DENIED"), {}, { retryable: false }, "down"],
    [429, error("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), { "retry-after": "60" }, { retryAfterMs: 60_000 }, "ok"],
    [
      503,
      error("UNAVAILABLE", "UNAVAILABLE"),
      { "retry-after": "5" },
      { retryAfterMs: 5_000, retryable: true },
      "down",
    ],
  ])("interprets %s %j", async (status, body, headers, details, state) => {
    const { push } = await open(() => ({ status, body, headers: headers as Record<string, string> }));
    await push.said(({ state }) => state === "ok");
    push.deliver(pushTo(1));
    expect({ gone: false, ...(await push.outcome(1, "failed")).details }).toMatchObject(details);
    expect(push.statuses.at(-1)?.state).toBe(state);
  });

  it("reports a refused or invalid account at start-up, without its key", async () => {
    const { service, push } = await open(undefined, false);
    const { reason } = (await push.said(({ state }) => state === "down")) as { reason: string };
    expect(reason).toContain("service account was refused (HTTP 400");
    expect(reason).not.toContain("PRIVATE");
    push.deliver(pushTo(1), { ...pushTo(2), device: { id: "x", deviceIdentifier: "no token", attributes: {} } });
    expect((await push.outcome(2, "failed")).details).toMatchObject({ retryable: false });
    expect((await push.outcome(1, "failed")).details).toMatchObject({ retryable: false });
    expect(service.sent).toEqual([]);
    const bare = await runInline(plugin, { config: { serviceAccount: "{}", address: "https://x", atOnce: 1 } });
    closing.push(() => bare.close());
    expect(bare.statuses.at(-1)).toMatchObject({ state: "unconfigured" });
  });
});
