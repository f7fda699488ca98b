import { afterEach, beforeEach, describe, expect, it } from "vitest";
import ruleActions from "../../../src/resources/scenarios/rule-actions.ts";
import scenarioNotifications from "../../../src/resources/scenarios/scenario-notifications.ts";
import scenarios from "../../../src/resources/scenarios/scenarios.ts";
import triggers from "../../../src/resources/webhooks/triggers.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";
import { startWebhookReceiver, verify, type WebhookReceiver } from "./webhook-receiver.ts";

let at: WebhookFixture;
let receiver: WebhookReceiver;

beforeEach(async () => {
  at = await openWebhookFixture();
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  await at.close();
  await receiver.close();
});

const scenario = (name: string) =>
  at.store.create(scenarios, { name, type: "standard", backgroundColor: "#aa0000", messages: [] }, at.system);
const start = (scenarioId: string, drill = false) =>
  at.store.create(scenarioNotifications, { scenarioId, drill }, at.system);
const webhook = (url: string) => ({ action: { type: "webhook", webhook: { url } } });

it("calls the webhook for each start of its scenario only", async () => {
  const [fire, other] = [await scenario("Fire"), await scenario("Other")];
  const action = await at.store.create(ruleActions, { scenarioId: fire.id, ...webhook(receiver.url) }, at.system);
  expect(action.name).toBe("Fire");
  await at.restart();
  await start(other.id);
  const live = await start(fire.id);
  await at.store.update(scenarioNotifications, live.id, { location: { site: { name: "North" } } }, at.system);
  const drill = await start(fire.id, true);
  const made = () => at.deliveries(action.triggerId as string).filter(({ state }) => state === "delivered");
  await at.until(() => made().length === 2);
  expect(made().map(({ resourceId, event }) => [resourceId, event])).toEqual([
    [live.id, "scenario-notifications.created"],
    [drill.id, "scenario-notifications.created"],
  ]);
  expect(receiver.calls).toHaveLength(2);
});

it("keeps its trigger in sync and protects it from deletion", async () => {
  const { id: scenarioId } = await scenario("Fire");
  const action = await at.store.create(ruleActions, { scenarioId, ...webhook("http://127.0.0.1:1/a") }, at.system);
  const trigger = () => at.store.get(triggers, action.triggerId as string);
  await at.store.update(ruleActions, action.id, { name: "Doors", ...webhook("http://127.0.0.1:1/b") }, at.system);
  expect(trigger()).toMatchObject({ name: "Doors", url: "http://127.0.0.1:1/b", scenarioId });
  await expect(at.store.remove(triggers, action.triggerId as string, at.system)).rejects.toThrow();
  await at.store.remove(scenarios, scenarioId, at.system);
  expect([trigger(), at.store.count(ruleActions, {})]).toEqual([null, 0]);
});

it("refuses a missing URL and a forbidden one", async () => {
  const { id: scenarioId } = await scenario("Fire");
  const make = (input: object) => at.store.create(ruleActions, { scenarioId, ...input }, at.system);
  await expect(make({ action: { type: "webhook" } })).rejects.toThrow("action.webhook.url");
  await expect(make(webhook("http://10.0.0.1/"))).resolves.toBeDefined();
  await expect(make(webhook("http://169.254.1.1/"))).rejects.toThrow("url");
  expect(at.store.count(ruleActions, {})).toBe(1);
});

describe("what a rule action sends", () => {
  const action = (scenarioId: string, more: object) =>
    at.store.create(ruleActions, { scenarioId, action: { webhook: { url: receiver.url, ...more } } }, at.system);
  const startOf = async (scenarioId: string) => {
    await at.restart();
    await start(scenarioId);
    return receiver.call(1);
  };

  it("is its method, headers, authorization and body, with placeholders that cannot leave their string", async () => {
    const { id } = await scenario('Fire "A"');
    const { id: actionId } = await action(id, {
      method: "PUT",
      headers: [{ name: "X-Api-Key", value: "k-1" }],
      authorization: { type: "basic", username: "door", password: "pass:word" },
      body: { text: "Start: {{scenario}}", of: "{{data.row.scenarioId}}", level: 3 },
    });
    const call = await startOf(id);
    expect(call).toMatchObject({
      method: "PUT",
      headers: {
        "x-api-key": "k-1",
        authorization: `Basic ${Buffer.from("door:pass:word").toString("base64")}`,
        "content-type": "application/json; charset=utf-8",
      },
      json: { text: 'Start: Fire "A"', of: id, level: 3 },
    });
    const secret = at.store.get(triggers, actionId)?.secret ?? "";
    verify(at.store.secrets.open(secret), call, at.clock.now());
  });

  it.each([
    ["bearer", { type: "bearer", token: "t0ken" }, "Bearer t0ken"],
    ["text", "ApiKey 7", "ApiKey 7"],
  ])("is authorized by %s", async (_kind, authorization, header) => {
    const { id } = await scenario("Fire");
    await action(id, { authorization });
    expect((await startOf(id)).headers.authorization).toBe(header);
  });

  it("is plain text if the body is text, and no body for a GET", async () => {
    const { id } = await scenario("Fire");
    await action(id, { body: "{{scenario}} in {{data.row.unknown}} progress" });
    const call = await startOf(id);
    expect([call.headers["content-type"], call.body]).toEqual(["text/plain; charset=utf-8", "Fire in progress"]);
    const { id: other } = await scenario("Other");
    await action(other, { method: "GET", body: "unused" });
    await start(other);
    expect(await receiver.call(2)).toMatchObject({ method: "GET", body: "" });
  });

  it("is never shown, is kept when it comes back as shown, and is not sent to another host", async () => {
    const { id } = await scenario("Fire");
    const made = await action(id, { headers: { "x-api-key": "k-1" }, authorization: "ApiKey 7" });
    const shown = { url: receiver.url, headers: { "x-api-key": "[secret]" }, authorization: "[secret]" };
    expect(made.action.webhook).toMatchObject(shown);
    const change = (webhook: object) =>
      at.store.update(ruleActions, made.id, { action: { type: "webhook", webhook } }, at.system);
    await change({ ...shown, method: "POST" });
    expect((await startOf(id)).headers).toMatchObject({ "x-api-key": "k-1", authorization: "ApiKey 7" });
    await expect(change({ ...shown, url: "http://127.0.0.2:9/" })).rejects.toThrow("must be given again");
    await expect(change({ ...shown, headers: { "x-api-key": "[secret]", "x-more": "1" } })).rejects.toThrow(
      "all headers",
    );
    await change({ url: receiver.url });
    await start(id);
    const { headers } = await receiver.call(2);
    expect([headers["x-api-key"], headers.authorization]).toEqual([undefined, undefined]);
    const stored = JSON.stringify([
      at.store.all("SELECT * FROM rule_actions"),
      at.store.all("SELECT * FROM audit_entries"),
    ]);
    expect(stored).not.toMatch(/k-1|ApiKey/);
  });

  it.each([
    [{ headers: { "content-length": "0" } }, "set by Carillon"],
    [{ headers: { "webhook-id": "0" } }, "set by Carillon"],
    [{ headers: { Authorization: "Basic x" } }, "action.webhook.authorization"],
    [{ headers: { "x y": "0" } }, "invalid name"],
    [{ headers: { x: "a\r\nb: c" } }, "value of x"],
    [{ headers: "x: y" }, "object of names"],
    [{ authorization: { type: "digest" } }, "action.webhook.authorization"],
    [{ authorization: { type: "basic", username: "a:b", password: "c" } }, "action.webhook.authorization"],
    [{ authorization: "a\nb" }, "value of a header"],
    [{ method: "TRACE" }, "action"],
  ])("is refused when it cannot be sent: %j", async (more, words) => {
    const { id } = await scenario("Fire");
    await expect(action(id, more)).rejects.toThrow(words);
  });
});
