import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
let ann: { id: string; token: string };
let at: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  ann = await api.user("Ann");
  at = `/users/${ann.id}/subscribable-distribution-lists`;
});
afterAll(() => api.close());

async function list(name: string, more: object = {}): Promise<string> {
  const made = await api.call("POST", "/distribution-lists", { json: { name, isSubscribable: true, ...more } });
  expect(made.status, made.text).toBe(200);
  return made.body.id;
}
const byAnn = (method: string, path: string, json?: object) =>
  api.call(method, path, { token: ann.token, ...(json ? { json } : {}) });
const names = async (query = "") =>
  (await byAnn("GET", `${at}${query}`)).body.data.map(
    (row: { distributionListName: string }) => row.distributionListName,
  );

describe("lists with self-service", () => {
  it("are joined and left by users without any permission", async () => {
    const choir = await list("Choir");
    await list("Closed", { isSubscribable: false });
    await list("Chess club");
    expect(await names()).toEqual(["Chess club", "Choir"]);
    const joined = await byAnn("PUT", `${at}/${choir}`, { subscribe: true });
    const row = { userId: ann.id, distributionListId: choir, distributionListName: "Choir", domainId: api.rootId };
    expect([joined.status, joined.body]).toEqual([200, { ...row, subscribed: true, createdAt: expect.any(String) }]);
    expect((await byAnn("PUT", `${at}/${choir}`, { subscribe: true })).status).toBe(200);
    expect((await byAnn("GET", `/users/${ann.id}/subscriptions`)).body.total).toBe(1);
    expect([await names("?subscribed=true"), await names("?subscribed=false"), await names("?q=ch ch")]).toEqual([
      ["Choir"],
      ["Chess club"],
      ["Chess club", "Choir"],
    ]);
    expect((await byAnn("PUT", `${at}/${choir}`, { subscribe: false })).body.subscribed).toBe(false);
    expect((await byAnn("GET", `/users/${ann.id}/subscriptions`)).body.total).toBe(0);
  });

  it("accept subscriptions during the campaign only", async () => {
    const days = await list("Days", { campaign: { defaultNotificationDays: 3 } });
    await byAnn("PUT", `${at}/${days}`, { subscribe: true });
    const { body } = await byAnn("GET", `/users/${ann.id}/subscriptions`);
    expect(Date.parse(body.data[0].subscriptionEndDate) - Date.now()).toBeGreaterThan(2 * 86_400_000);
    const over = await list("Over", {
      campaign: { enrollmentEndDate: "2020-01-01T00:00:00.000Z", inactiveMessage: "Too late." },
    });
    const late = await byAnn("PUT", `${at}/${over}`, { subscribe: true });
    expect([late.status, late.body.message]).toEqual([409, "Too late."]);
  });

  it("are hidden from other users", async () => {
    const closed = await list("Staff only", { isSubscribable: false });
    expectError(await byAnn("PUT", `${at}/${closed}`, { subscribe: true }), 404, "not-found");
    expectError(await byAnn("GET", `${at}/nonsense`), 404, "not-found");
    expectError(await byAnn("PUT", `${at}/${await list("Open")}`, {}), 400, "required", "subscribe");
    const other = await byAnn("GET", `/users/${api.adminId}/subscribable-distribution-lists`);
    expect([403, 404]).toContain(other.status);
  });
});

it("lists show by which version both sides of a link are equal", async () => {
  const id = await list("Orchestra");
  const shown = async () => (await api.call("GET", `/distribution-lists/${id}`)).body.syncId;
  expect(await shown()).toBeNull();
  await api.store.write((tx) => {
    tx.run("INSERT INTO hub_head (id, epoch, since, seq, floor) VALUES ('head', '0c5e1b2a-aaaa', 0, 7, 0)");
    tx.run("INSERT INTO hub_row (type, id, seq, gone, past, at) VALUES ('distribution-lists', ?, 7, 0, '[]', 0)", id);
  });
  expect(await shown()).toBe("0c5e1b2a.7");
});
