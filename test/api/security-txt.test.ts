import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSettings } from "../../src/settings/load-settings.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const PATH = "/.well-known/security.txt";
const clock = createFakeClock(Date.parse("2026-03-01T23:59:59.000Z"));
const opened: ApiFixture[] = [];

async function openWith(yaml: string): Promise<ApiFixture> {
  const api = await openApi(makeTempDir(), { clock, needs: { settings: parseSettings(yaml) } });
  opened.push(api);
  return api;
}

function fetchFrom(api: ApiFixture, init: RequestInit = {}): Promise<Response> {
  return fetch(new URL(PATH, api.base), init);
}

/** Fields by name, as a reader of the file sees them. */
async function fieldsFrom(api: ApiFixture, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const text = await (await fetchFrom(api, { headers })).text();
  expect(text).toMatch(/^(?:[A-Z][A-Za-z-]+: \S.*\n)+$/);
  return Object.fromEntries(
    text
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/: (.*)/).slice(0, 2)),
  );
}

afterAll(() => Promise.all(opened.map((api) => api.close())));

describe("security.txt", () => {
  let api: ApiFixture;
  beforeAll(async () => {
    api = await openWith(
      "{security: {contact: 'mailto:security@example.org', languages: [de, en-GB]}, api: {trustedProxies: [127.0.0.1]}}",
    );
  });

  it("is missing without a contact", async () => {
    const without = await openWith("security: {languages: [de]}");
    const response = await fetchFrom(without);
    expect([response.status, await response.json()]).toEqual([404, expect.objectContaining({ type: "not-found" })]);
  });

  it("is text with contact, expiry and languages, for everybody", async () => {
    const response = await fetchFrom(api);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(await response.text()).toBe(
      "Contact: mailto:security@example.org\nExpires: 2026-05-31T00:00:00.000Z\nPreferred-Languages: de, en-GB\n",
    );
  });

  it("never expires while it is served", async () => {
    const { Expires: before } = await fieldsFrom(api);
    await clock.advance(1_000);
    const { Expires: after } = await fieldsFrom(api);
    expect([before, after]).toEqual(["2026-05-31T00:00:00.000Z", "2026-06-01T00:00:00.000Z"]);
  });

  it("links to the policy over TLS only, by the host or the public URL", async () => {
    const { host } = new URL(api.base);
    expect(await fieldsFrom(api, { "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https" })).toMatchObject({
      Canonical: `https://${host}${PATH}`,
      Policy: `https://${host}/help/security#reporting-a-vulnerability`,
    });
    const named = await openWith(
      "{security: {contact: 'https://example.org/report', languages: []}, api: {publicUrl: 'https://bells.example.org/'}}",
    );
    expect(Object.entries(await fieldsFrom(named)).sort()).toEqual([
      ["Canonical", `https://bells.example.org${PATH}`],
      ["Contact", "https://example.org/report"],
      ["Expires", "2026-06-01T00:00:00.000Z"],
      ["Policy", "https://bells.example.org/help/security#reporting-a-vulnerability"],
    ]);
    const plain = await openWith(
      "{security: {contact: 'tel:+1-202-555-0100'}, api: {publicUrl: 'http://bells.example.org'}}",
    );
    expect(Object.keys(await fieldsFrom(plain))).toEqual(["Contact", "Expires", "Preferred-Languages"]);
  });

  it("is a page that exists in the handbook", async () => {
    const page = await fetch(new URL("/help/security", api.base));
    expect(await page.text()).toContain('id="reporting-a-vulnerability"');
  });

  it("is read-only", async () => {
    const response = await fetchFrom(api, { method: "POST", body: "x" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    const head = await fetchFrom(api, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });
});

describe("the contact", () => {
  it.each([
    "security@example.org",
    "mailto:",
    "mailto:a b@example.org",
    "http://example.org",
    "https://",
    "tel:911",
    "mailto:a@b\nPolicy: x",
  ])("must be an address: %s", (contact) => {
    expect(() => parseSettings(JSON.stringify({ security: { contact } }))).toThrow("security.contact");
  });
});
