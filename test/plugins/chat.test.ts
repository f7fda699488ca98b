import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/chat/index.ts";
import type { DeliveryItem } from "../../src/plugin-api/index.ts";
import { advanceUntil } from "../support/advance-until.ts";
import { createFakeClock, FAKE_CLOCK_START } from "../support/fake-clock.ts";
import { type ChatPost, type ChatScriptedResponse, openTestChatServer, type TestChatServer } from "./chat-server.ts";
import { type InlineOptions, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { itemOf } from "./test-appliance.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(
  answer?: (post: ChatPost, count: number) => ChatScriptedResponse | "never",
): Promise<TestChatServer> {
  const service = await openTestChatServer(answer);
  closing.push(service.close);
  return service;
}

async function run(webhooks: string | null, more: Partial<InlineOptions> = {}): Promise<InlinePlugin> {
  const config = { webhooks, language: "en" };
  const started = await runInline(plugin, { config, allowedTargets: ["127.0.0.0/8"], ...more });
  closing.push(() => started.close());
  return started;
}

/** A message to a group of that name; `of` says what matters to the test. */
function postTo(deliveryId: number, name: string, attributes = {}, of: Partial<DeliveryItem> = {}): DeliveryItem {
  const device = { id: "0198f3a0-0000-7000-8000-00000000f00b", deviceIdentifier: name, attributes };
  return itemOf(deliveryId, { device, ...of });
}

const runsIn = ({ said }: ChatPost): string[] =>
  (said.attachments?.[0]?.content.body ?? []).flatMap(({ inlines }) => inlines.map(({ text }) => text));

describe("chat", () => {
  it("posts a card and a text without markup, and marks a drill", async () => {
    const service = await open();
    const chat = await run(`Office=${service.url("/office")}\nOps = ${service.url("/ops")}\nnonsense`);
    const text = { subject: "Fire & <!channel> *run*", body: "Leave.\n\n[Now](http://evil.example)", short: "" };
    chat.deliver(
      postTo(1, "Front", { channel: "Office" }, { text, drill: true }),
      postTo(2, "Ops", { format: "text" }, { text }),
    );
    await Promise.all([chat.outcome(1, "accepted"), chat.outcome(2, "accepted")]);
    const [card, plain] = ["/office", "/ops"].map((path) => service.posts.find((post) => post.path === path));
    expect(runsIn(card as ChatPost)).toEqual([
      "This is a drill.",
      text.subject,
      "Leave.",
      "[Now](http://evil.example)",
    ]);
    expect(card?.said.attachments?.[0]?.content.body.every(({ type }) => type === "RichTextBlock")).toBe(true);
    expect(plain?.said.text).toBe("*Fire &amp; &lt;!channel&gt; ∗run∗*\nLeave.\n\n[Now](http://evil.example)");
    expect(chat.statuses.at(-1)).toMatchObject({ state: "ok" });
  });

  it("respects Retry-After in order, while other channels continue", async () => {
    const clock = createFakeClock();
    const service = await open(({ path }, count) =>
      path === "/busy" && count === 1 ? { status: 429, headers: { "retry-after": "30" } } : { status: 200 },
    );
    const chat = await run(`Busy=${service.url("/busy")}\nOther=${service.url("/other")}`, { clock });
    const untilMs = (ms: number) => ({ notAfter: FAKE_CLOCK_START + ms });
    chat.deliver(postTo(1, "Busy", {}, untilMs(60_000)));
    await advanceUntil(clock, () => service.posts.length > 0);
    await clock.advance(50);
    chat.deliver(postTo(2, "Busy", {}, untilMs(20_000)), postTo(3, "Busy", {}, untilMs(60_000)), postTo(4, "Other"));
    await advanceUntil(clock, () => chat.levels(4).length > 0, 60);
    chat.stop("aborted", 3);
    expect(service.posts.map(({ path }) => path)).toEqual(["/busy", "/other"]);
    await clock.advance(29_000);
    await advanceUntil(clock, () => chat.levels(1).length > 0, 60);
    expect(service.posts.map(({ path }) => path)).toEqual(["/busy", "/other", "/busy"]);
    await advanceUntil(clock, () => chat.levels(2).length > 0, 60);
    expect([1, 2, 3, 4].map((each) => chat.levels(each))).toEqual([["accepted"], ["failed"], [], ["accepted"]]);
  });

  it("drops posts that would be too late or are cancelled while waiting", async () => {
    const clock = createFakeClock();
    const service = await open(() => ({ status: 429, headers: { "retry-after": "30" } }));
    const chat = await run(`A=${service.url("/a")}\nB=${service.url("/b")}`, { clock });
    chat.deliver(postTo(1, "A", {}, { notAfter: FAKE_CLOCK_START + 20_000 }), postTo(2, "B"));
    await advanceUntil(clock, () => service.posts.length === 2 && chat.levels(1).length > 0, 60);
    chat.stop("aborted", 2);
    await advanceUntil(clock, () => chat.levels(2).length > 0, 60);
    const [late] = chat.outcomes;
    expect(late).toMatchObject({
      deliveryId: 1,
      details: { reason: expect.stringContaining("beyond the message's lifetime"), retryable: false },
    });
    expect(service.posts.length).toBe(2);
  });

  it.each([
    [404, "no_service", false, "the webhook is not valid (HTTP 404: no_service)"],
    [400, "invalid_payload", false, "HTTP 400: invalid_payload"],
    [502, "", true, "HTTP 502"],
    [200, "Webhook message delivery failed with error: endpoint returned HTTP error 410", false, "(HTTP 410"],
  ])("interprets %s %s", async (status, body, retryable, words) => {
    const service = await open(() => ({ status, body }));
    const chat = await run(`Office=${service.url("/office")}`);
    chat.deliver(postTo(1, "Office"));
    const { details } = await chat.outcome(1, "failed");
    expect(details).toMatchObject({ retryable, reason: expect.stringContaining(words) });
    expect(chat.statuses.at(-1)?.state).toBe(retryable ? "down" : "ok");
  });

  it("truncates text for a card, and refuses addresses that are not allowed", async () => {
    const service = await open();
    const chat = await run(`Office=${service.url("/office")}`);
    const text = { subject: "Long", body: "ä€".repeat(5_000), short: "" };
    chat.deliver(postTo(1, "Office", {}, { text }));
    await chat.outcome(1, "accepted");
    expect(runsIn(service.posts[0] as ChatPost).at(-1)).toMatch(/^(ä€)+ä? …$/);
    const careful = await run(`Office=${service.url("/office")}\nGone=http://192.0.2.1/x`, { allowedTargets: [] });
    careful.deliver(postTo(1, "Office"), postTo(2, "Nobody"), postTo(3, "Gone", { format: "fax" }));
    const [refused, unknown, odd] = await Promise.all([1, 2, 3].map((each) => careful.outcome(each, "failed")));
    expect(refused).toMatchObject({ details: { reason: expect.stringContaining("not allowed") } });
    expect(unknown).toMatchObject({ details: { reason: expect.stringContaining("Nobody"), retryable: false } });
    expect(odd).toMatchObject({ details: { reason: expect.stringContaining("format"), retryable: false } });
    expect(careful.statuses.at(-1)).toMatchObject({ state: "degraded", reason: expect.stringContaining("Office:") });
    expect(service.posts.length).toBe(1);
  });

  it("reports missing configuration", async () => {
    const none = await run(null);
    none.deliver(postTo(1, "Office"));
    expect(await none.outcome(1, "failed")).toMatchObject({ details: { reason: "webhooks must be set" } });
  });
});

describe("a chat channel as a device", () => {
  it("gets the posts of the device groups that contain it", async () => {
    const service = await open();
    const chat = await run(`Office=${service.url("/office")}\nchat:Ops=${service.url("/ops")}`);
    chat.deliver(
      postTo(1, "chat:Office", { format: "text" }),
      postTo(2, "chat:Ops", {}),
      postTo(3, "chat:Front", { channel: "Office" }),
      postTo(4, "chat:Nowhere"),
    );
    await Promise.all([1, 2, 3].map((id) => chat.outcome(id, "accepted")));
    expect((await chat.outcome(4, "failed")).details.reason).toBe("no webhook is configured for channel chat:Nowhere");
    expect(service.posts.map(({ path }) => path).sort()).toEqual(["/office", "/office", "/ops"]);
  });
});
