import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/web-push/index.ts";
import type { DeliveryItem } from "../../src/plugin-api/index.ts";
import { type InlineOptions, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { withMemoryState } from "./memory-state.ts";
import { itemOf } from "./test-appliance.ts";
import {
  makeBrowser,
  openTestWebPushServer,
  type PushedMessage,
  type PushScriptedResponse,
  type TestWebPushServer,
} from "./web-push-server.ts";

const RECIPIENT = "0198f3a0-0000-7000-8000-00000000aaaa";
const [ann, bob] = [makeBrowser("/push/ann"), makeBrowser("/push/bob")];

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(
  answer?: (pushed: PushedMessage, count: number) => PushScriptedResponse,
): Promise<TestWebPushServer> {
  const service = await openTestWebPushServer([ann, bob], answer);
  closing.push(service.close);
  return service;
}

async function run(more: Partial<InlineOptions> = {}): Promise<InlinePlugin> {
  const config = { contact: "mailto:it@example.org", atOnce: 40 };
  const options = { config, allowedTargets: ["127.0.0.0/8"], answer: withMemoryState(), ...more };
  const started = await runInline(plugin, options);
  closing.push(() => started.close());
  return started;
}

function pushTo(id: number, service: TestWebPushServer, browser = ann, of: Partial<DeliveryItem> = {}): DeliveryItem {
  const device = {
    id: "0198f3a0-0000-7000-8000-00000000f00b",
    deviceIdentifier: service.url(browser.path),
    attributes: { Type: "web-push", ClientIdentifier: browser.clientIdentifier },
  };
  const answers = { options: ["Safe", "Need help"], url: "https://bells.example.org/answer/00ff" };
  return itemOf(id, { device, recipient: { id: RECIPIENT, name: "Ann", answers }, ...of });
}

const receipt = (members: object) => ({ url: "/receipt", body: Buffer.from(JSON.stringify(members)) });
const jsonIn = ({ body = "" }: { body?: string | Uint8Array }) => JSON.parse(String(body));

describe("web-push", () => {
  it("encrypts per browser, signs with VAPID, and keeps its keys across restarts", async () => {
    const service = await open();
    const answer = withMemoryState();
    const first = await run({ answer });
    const until = Date.now() + 600_000;
    first.deliver(
      pushTo(1, service, ann, { class: "emergency", expiresAt: until }),
      pushTo(2, service, bob, { drill: true }),
    );
    await Promise.all([first.outcome(1, "accepted"), first.outcome(2, "accepted")]);
    await first.close();
    closing.pop();
    const second = await run({ answer });
    second.deliver(pushTo(3, service));
    await second.outcome(3, "accepted");
    expect(service.faults).toEqual([]);
    const [urgent, drill, later] = ["/push/ann", "/push/bob", "/push/ann"].map((path, at) =>
      at === 2 ? service.pushed[2] : service.pushed.find((each) => each.path === path),
    ) as [PushedMessage, PushedMessage, PushedMessage];
    expect(urgent.headers).toMatchObject({ urgency: "high" });
    expect(Number(urgent.headers.ttl)).toBeGreaterThan(590);
    expect(Number(urgent.headers.ttl)).toBeLessThanOrEqual(600);
    expect(drill.headers).toMatchObject({ urgency: "normal", ttl: "86400" });
    expect(urgent.claims.sub).toBe("mailto:it@example.org");
    expect(urgent.payload).toMatchObject({
      ...{ subject: "Test", body: "This is a test.", emergency: true, drill: false, options: ["Safe", "Need help"] },
      answerUrl: "https://bells.example.org/answer/00ff",
    });
    expect(drill.payload).toMatchObject({ drill: true, emergency: false });
    const told = jsonIn(await second.request({ method: "GET", url: "/key" }));
    expect([urgent.key, drill.key, later.key]).toEqual([told.publicKey, told.publicKey, told.publicKey]);
  });

  it("accepts only signed receipts of display and response", async () => {
    const service = await open();
    const kept = withMemoryState((call) => {
      if (call.method !== "confirm") return undefined;
      return call.args[1] === "Safe" ? "Stay where you are." : new Error("Must be one of the request's options.");
    });
    const push = await run({ answer: kept });
    push.deliver(pushTo(7, service));
    await push.outcome(7, "accepted");
    const signed = service.pushed[0]?.payload.receipt as string;
    const forged = [signed.replace(/^7\./, "8."), signed.slice(0, -2), "", 7, `${signed}A`];
    for (const each of forged) expect((await push.request(receipt({ receipt: each }))).status).toBe(404);
    expect((await push.request(receipt({ receipt: signed }))).status).toBe(204);
    expect((await push.request(receipt({ receipt: signed, option: "Fine" }))).status).toBe(409);
    const answered = await push.request(receipt({ receipt: signed, option: "Safe" }));
    expect([answered.status, jsonIn(answered)]).toEqual([200, { reply: "Stay where you are." }]);
    expect((await push.outcome(7, "confirmed")).details).toMatchObject({ afterwards: true });
    expect(push.levels(7)).toEqual(["accepted", "playing", "confirmed"]);
    expect(push.calls.filter(({ method }) => method === "confirm").at(-1)?.args).toEqual([RECIPIENT, "Safe"]);
    expect((await push.request({ method: "GET", url: "/receipt" })).status).toBe(405);
  });

  it.each([
    [410, {}, { gone: true, retryable: false }, "ok"],
    [404, {}, { gone: true, retryable: false }, "ok"],
    [429, { "retry-after": "30" }, { retryable: true, retryAfterMs: 30_000 }, "ok"],
    [503, { "retry-after": "5" }, { retryable: true, retryAfterMs: 5_000 }, "down"],
    [403, {}, { retryable: false }, "down"],
    [400, {}, { retryable: false }, "ok"],
  ])("interprets %s", async (status, headers, details, state) => {
    const service = await open(() => ({ status, headers, body: "a reason" }));
    const push = await run();
    push.deliver(pushTo(1, service));
    expect((await push.outcome(1, "failed")).details).toMatchObject(details);
    expect(push.statuses.at(-1)?.state).toBe(state);
  });

  it("truncates to 4,096 bytes, and omits the text if still too large", async () => {
    const service = await open(({ bytes }) => ({ status: bytes > 1_000 ? 413 : 201 }));
    const push = await run();
    const text = { subject: "Long", body: `"${"ä€😀".repeat(3_000)}`, short: "" };
    push.deliver(pushTo(1, service, ann, { text }));
    await push.outcome(1, "accepted");
    const [long, short] = service.pushed as [PushedMessage, PushedMessage];
    expect(long.bytes).toBeGreaterThan(4_080);
    expect(long.bytes).toBeLessThanOrEqual(4_096);
    expect(text.body.startsWith(long.payload.body.slice(0, -1))).toBe(true);
    expect([short.payload.subject, short.payload.body]).toEqual(["Long", ""]);
  });

  it("refuses addresses that are not allowed, and reports missing configuration", async () => {
    const service = await open();
    const careful = await run({ allowedTargets: [] });
    const odd = pushTo(2, service);
    careful.deliver(pushTo(1, service), { ...odd, device: { ...odd.device, attributes: {} } });
    const [refused, none] = await Promise.all([careful.outcome(1, "failed"), careful.outcome(2, "failed")]);
    expect(refused.details.reason).toContain("not allowed");
    expect(none.details).toMatchObject({
      retryable: false,
      reason: expect.stringContaining("must be a browser subscription"),
    });
    const bare = await run({ config: { contact: null, atOnce: 40 } });
    expect(bare.statuses.at(-1)).toMatchObject({ state: "unconfigured", reason: expect.stringContaining("contact") });
    expect(service.pushed).toEqual([]);
  });
});
