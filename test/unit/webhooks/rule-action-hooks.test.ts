import { afterEach, beforeEach, expect, it } from "vitest";
import ruleActions from "../../../src/resources/scenarios/rule-actions.ts";
import scenarioNotifications from "../../../src/resources/scenarios/scenario-notifications.ts";
import scenarios from "../../../src/resources/scenarios/scenarios.ts";
import triggers from "../../../src/resources/webhooks/triggers.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";

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
