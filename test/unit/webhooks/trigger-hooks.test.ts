import { afterAll, beforeAll, describe, expect, it } from "vitest";
import triggers from "../../../src/resources/webhooks/triggers.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";

let strict: WebhookFixture;
beforeAll(async () => {
  strict = await openWebhookFixture([]);
});
afterAll(() => strict.close());

describe("trigger validation", () => {
  it.each([
    ["a spec that is no path", { spec: "users" }, "spec"],
    ["a spec where nothing is", { spec: "/nothing/*" }, "spec"],
    ["a spec of facts", { spec: "/notifications/*/recipients/*" }, "spec"],
    ["another type", { type: "sqs" }, "type"],
    ["a short secret", { secret: "whsec_c2hvcnQ=" }, "secret"],
    ["a secret without its prefix", { secret: Buffer.alloc(32).toString("base64") }, "secret"],
    ["an own address", { url: "http://127.0.0.1:1/" }, "url"],
    ["an own address in other words", { url: "http://0x7f.1/" }, "url"],
    ["an own address in IPv6", { url: "http://[::ffff:127.0.0.1]/" }, "url"],
    ["localhost", { url: "http://localhost/" }, "url"],
    ["the address of a cloud's own data", { url: "http://169.254.169.254/latest" }, "url"],
    ["a password in the address", { url: "http://a:b@example.org/" }, "url"],
  ])("refuses %s", async (_what, input, field) => {
    const made = strict.trigger({ url: "https://example.org/hook", ...input });
    await expect(made).rejects.toMatchObject({ faults: [{ field, type: "invalid-value" }] });
    expect(strict.store.count(triggers, {})).toBe(0);
  });
});
