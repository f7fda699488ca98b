import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { declineLink } from "../../src/people/opt-outs.ts";
import optOuts from "../../src/resources/messages/opt-outs.ts";
import notificationRecipients from "../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

type Person = { id: string; token: string };

let api: ApiFixture;
let ann: Person;
let ben: Person;
let template: string;
let message: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  [ann, ben] = [await api.user("Ann"), await api.user("Ben")];
  const json = { name: "Canteen", subject: "Canteen <today>", optOut: true };
  template = (await api.call("POST", "/message-templates", { json })).body.id;
  message = await sentTo([ann]);
});
afterAll(() => api.close());

/** Stores a message as the notificationService does. */
async function sentTo(people: readonly Person[], priorityLevel = 5): Promise<string> {
  const made = { messageTemplateId: template, subject: "Canteen <today>", stage: "settled", priorityLevel };
  const { id: notificationId } = await api.store.create(notifications, {}, api.system, made);
  for (const { id: userId } of people)
    await api.store.create(notificationRecipients, {}, api.system, { notificationId, userId });
  return notificationId;
}
const at = ({ id }: Person): string => `/users/${id}/opt-outs`;
const as = ({ token }: Person, method: string, path: string, json?: object) =>
  api.call(method, path, { token, ...(json ? { json } : {}) });
const decline = (who: Person, notificationId = message) => as(who, "POST", at(who), { notificationId });

describe("opting out of a template", () => {
  it("is done and undone by the user without any permission, and listed for the user", async () => {
    const own = async () => (await as(ann, "GET", `/users/${ann.id}/notifications`)).body.data[0];
    expect(await own()).toMatchObject({ declinable: true, optOutId: null });
    const { status, body } = await decline(ann);
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        ...{ userId: ann.id, messageTemplateId: template, subject: "Canteen <today>", holds: true },
      }),
    ]);
    expect((await decline(ann)).body.id).toBe(body.id);
    expect(await own()).toMatchObject({ declinable: true, optOutId: body.id });
    expect((await as(ann, "GET", at(ann))).body).toMatchObject({ total: 1, data: [{ id: body.id }] });
    expect((await as(ann, "GET", `${at(ann)}/${body.id}`)).body).toMatchObject({ holds: true });

    for (const [method, path, json] of [
      ["GET", at(ann)],
      ["GET", `${at(ann)}/${body.id}`],
      ["POST", at(ann), { notificationId: message }],
      ["DELETE", `${at(ann)}/${body.id}`],
      ["GET", `/message-templates/${template}/opt-outs`],
      ["DELETE", `/message-templates/${template}/opt-outs/${body.id}`],
    ] as const) {
      const refused = await as(ben, method, path, json);
      expect([403, 404], `${method} ${path}`).toContain(refused.status);
    }
    expect((await as(ann, "DELETE", `${at(ann)}/${body.id}`)).status).toBe(200);
    expect((await as(ann, "GET", at(ann))).body.total).toBe(0);
  });

  it("belongs to the user in every domain", async () => {
    const { id: hall } = (await api.call("POST", "/domains", { json: { name: "Hall" } })).body;
    await api.call("POST", `/domains/${hall}/users`, { json: { id: ann.id } });
    const headers = { "x-service-domain": hall };
    const asked = { token: ann.token, headers };
    const made = await api.call("POST", at(ann), { ...asked, json: { notificationId: message } });
    expect([made.status, made.body]).toEqual([200, expect.objectContaining({ userId: ann.id })]);
    expect((await api.call("DELETE", `${at(ann)}/${made.body.id}`, asked)).status).toBe(200);
  });

  it("requires a received notification whose template allows it", async () => {
    expectError(await decline(ben), 404, "not-found");
    expectError(await decline(ann, await sentTo([ann], 0)), 409, "conflict");
    expectError(await as(ann, "POST", at(ann), {}), 400, "required", "notificationId");
    expectError(await as(ann, "POST", at(ann), { notificationId: "x" }), 400, "invalid-value", "notificationId");
    expect(api.store.count(optOuts, {})).toBe(0);
  });

  it("is listed and undone at the template by its managers, and holds while the template allows it", async () => {
    const { body } = await decline(ann);
    const ofTemplate = `/message-templates/${template}/opt-outs`;
    const listed = async () => (await api.call("GET", ofTemplate)).body;
    expect(await listed()).toMatchObject({ total: 1, data: [{ holds: true, user: { name: "Ann" } }] });
    const letsDecline = (optOut: boolean) => api.call("PUT", `/message-templates/${template}`, { json: { optOut } });
    await letsDecline(false);
    expect((await listed()).data).toMatchObject([{ holds: false }]);
    expectError(await decline(ann), 409, "conflict");
    await letsDecline(true);
    expect((await api.call("GET", `${ofTemplate}/${body.id}`)).body).toMatchObject({ holds: true, userId: ann.id });
    expect((await api.call("DELETE", `${ofTemplate}/${body.id}`)).status).toBe(200);
    expect((await listed()).total).toBe(0);
    const manager = await api.user("Manager", "get /users/*", "post /users/*/opt-outs");
    expect((await as(manager, "POST", at(ann), { notificationId: message })).body).toMatchObject({ userId: ann.id });
    await api.store.remove(optOuts, api.store.find(optOuts, {})[0]?.id ?? "", api.system);
  });

  it("is undone by an id in the query, also in the on-premises spelling", async () => {
    const onPremises = `/api/onprem/v1/messages/${template}/opt-outs`;
    const declined = async (): Promise<string> => (await decline(ann)).body.id;
    expect((await as(ann, "DELETE", `${at(ann)}?id=${await declined()}`)).status).toBe(200);
    expect((await api.call("DELETE", `/message-templates/${template}/opt-outs?id=${await declined()}`)).status).toBe(
      200,
    );
    const id = await declined();
    expect((await api.call("GET", onPremises)).body).toMatchObject({ total: 1, data: [{ id }] });
    expect((await api.call("GET", `${onPremises}/${id}`)).body).toMatchObject({ userId: ann.id });
    expect((await api.call("DELETE", `${onPremises}/${id}`)).status).toBe(200);
    expect((await api.call("DELETE", `${onPremises}?id=${await declined()}`)).status).toBe(200);
    expect(api.store.count(optOuts, {})).toBe(0);
  });

  it("asks on the page behind the mail's link; only its button opts out", async () => {
    const [row] = api.store.find(notificationRecipients, { notificationId: message });
    const link = declineLink(row?.id ?? "", api.base.slice(0, -"/api/v1".length), api.store);
    const page = async (init: RequestInit = {}, address = link) => {
      const answer = await fetch(address, { ...init, headers: { "accept-language": "en" } });
      return { status: answer.status, text: await answer.text() };
    };
    const asked = await page();
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining("like “Canteen &#60;today&#62;”?")]);
    expect(asked.text).toContain('<form method="post">');
    expect(api.store.count(optOuts, {})).toBe(0);
    // As mail programs do it (RFC 8058): a form that is sent without opening the page.
    const oneClick = { method: "POST", body: new URLSearchParams({ "List-Unsubscribe": "One-Click" }) };
    for (const init of [oneClick, { method: "POST" }, {}]) {
      const done = await page(init);
      expect([done.status, done.text]).toEqual([200, expect.stringContaining('<p role="status">')]);
      expect(done.text).not.toContain("<form");
      expect(api.store.find(optOuts, {})).toMatchObject([{ userId: ann.id, messageTemplateId: template }]);
    }
    const wrong = link.replace(/[0-9a-f]+$/, "0".repeat(120));
    for (const init of [{}, { method: "POST" }]) {
      expect(await page(init, wrong)).toMatchObject({ status: 404, text: expect.stringContaining("does not work") });
    }
  });
});
