import { afterAll, beforeAll, expect, it } from "vitest";
import subscriptions from "../../src/resources/people/subscriptions.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
const sent: { subject: string; body: string }[] = [];
beforeAll(async () => {
  const notificationService = { send: async (input: never) => void sent.push(input) };
  api = await openApi(makeTempDir(), { needs: { notificationService: notificationService as never } });
});
afterAll(() => api.close());

const origin = () => api.base.slice(0, -"/api/v1".length);
const page = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(origin() + path, init);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};
const posted = (form: Record<string, string>): RequestInit => ({ method: "POST", body: new URLSearchParams(form) });

async function campaign(more: object = {}, name = "Snow <days>"): Promise<{ id: string; path: string }> {
  const json = { name, isSubscribable: true, campaign: { welcomeMessage: "Welcome", ...more } };
  const { body } = await api.call("POST", "/distribution-lists", { json });
  return { id: body.id, path: body.campaign.url.replace("http://localhost", "") };
}

it("people join on a page at the campaign's url and leave by the link of the welcome", async () => {
  const { id, path } = await campaign();
  expect(path).toBe(`/join/${id}`);
  const form = await page(path);
  expect([form.status, form.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(form.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(form.text).not.toMatch(/<script|<days>/);
  for (const name of ["name", "email", "phone"]) expect(form.text).toContain(`<label for="${name}">`);
  const joined = await page(path, posted({ name: "Ann", email: "ann@example.org", phone: "" }));
  expect([joined.status, joined.text]).toEqual([200, expect.stringContaining('<p role="status">')]);
  const { userId } = api.store.find(subscriptions, { distributionListId: id })[0] as { userId: string };
  expect((await api.call("GET", `/users/${userId}`)).body).toMatchObject({ name: "Ann", selfRegistered: true });
  const link = new URL(sent.at(-1)?.body.split("\n").at(-1) ?? "").pathname;
  const asked = await page(link);
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining("Leave Snow &#60;days&#62;?")]);
  expect(api.store.count(subscriptions, { distributionListId: id })).toBe(1);
  for (const init of [posted({ "List-Unsubscribe": "One-Click" }), { method: "POST" }]) {
    expect((await page(link, init)).text).toContain("You have left");
    expect(api.store.count(subscriptions, { distributionListId: id })).toBe(0);
  }
  expect((await page(link)).text).toContain("You have left");
});

it("reports errors in the browser's language and keeps the input", async () => {
  const { id, path } = await campaign();
  const german = { "accept-language": "de-DE,de;q=0.9,en;q=0.5" };
  const none = await page(path, { ...posted({ name: "Ann" }), headers: german });
  expect([none.status, none.text]).toEqual([400, expect.stringContaining('<html lang="de">')]);
  expect(none.text).toContain("Bitte geben Sie eine E-Mail-Adresse oder eine Mobilnummer ein.");
  expect(none.text).toContain('value="Ann"');
  const badMail = await page(path, posted({ email: 'a b"><script>' }));
  expect([badMail.status, badMail.text]).toEqual([400, expect.stringContaining("This email address is not valid.")]);
  expect(badMail.text).not.toContain("<script>");
  const badPhone = await page(path, posted({ phone: "call me" }));
  expect(badPhone.text).toContain("This number is not valid.");
  expect(api.store.count(subscriptions, { distributionListId: id })).toBe(0);
});

it("shows the campaign's closing text after its end, and nothing for an invalid link", async () => {
  const late = await campaign({ enrollmentEndDate: "2020-01-01T00:00:00.000Z", inactiveMessage: "Over & out" });
  for (const init of [{}, posted({ email: "late@example.org" })]) {
    const answer = await page(late.path, init);
    expect([answer.status, answer.text]).toEqual([410, expect.stringContaining("Over &#38; out")]);
  }
  const { body: plain } = await api.call("POST", "/distribution-lists", { json: { name: "Internal" } });
  for (const path of [`/join/${plain.id}`, "/join/x", `/leave/${"0".repeat(120)}`]) {
    const answer = await page(path);
    expect([path, answer.status, answer.text.includes("Internal")]).toEqual([path, 404, false]);
  }
  expect((await page(`/join/${plain.id}`, posted({ email: "a@example.org" }))).status).toBe(404);
});

it("limits the rate of attempts", async () => {
  const { path } = await campaign({}, "Busy");
  let answer = await page(path, posted({ email: "a0@example.org" }));
  for (let number = 1; answer.status === 200 && number < 30; number++) {
    answer = await page(path, posted({ email: `a${number}@example.org` }));
  }
  expect([answer.status, answer.text]).toEqual([429, expect.stringContaining("Too many attempts.")]);
});
