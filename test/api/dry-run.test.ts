import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import devices from "../../src/resources/devices/devices.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { createCatalogue, tableName } from "../../src/schema/catalogue.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

/** How much every table holds and what was written last. */
function stateOf(): unknown {
  const tables = createCatalogue(api.declarations).all.map(tableName);
  const counts = tables.map((table) => [
    table,
    api.store.one(`SELECT count(*) AS n, max(updated_at) AS at FROM ${table}`),
  ]);
  return [counts, api.store.one("SELECT max(seq) FROM changes"), api.store.one("SELECT max(pk) FROM audit_entries")];
}

let before: unknown;
/** What is made for a test comes before this. */
function settled(): void {
  before = stateOf();
}
beforeEach(() => {
  before = null;
});
afterEach(() => {
  if (before !== null) expect(stateOf()).toEqual(before);
});

const make = async (path: string, json: object): Promise<string> => {
  const answer = await api.call("POST", path, { json });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.id;
};
const list = (name: string) => make("/distribution-lists", { name });
const user = (name: string) => make("/users", { name, email: `${crypto.randomUUID()}@users.example.org` });
const place = (listId: string, userId: string, more: object = {}) =>
  make(`/distribution-lists/${listId}/user-subscriptions`, { userId, ...more });

/** The names that a rehearsal tells, with what it counts. */
async function dryRund(method: string, path: string, json: object = {}, token = api.token) {
  const answer = await api.call(method, `${path}?dryRun=true`, { json, token });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  const { users, devices: things, access } = answer.body.dryRun;
  const names = ({ count, first }: { count: number; first: { name: string }[] }) => {
    expect(first.length).toBeLessThanOrEqual(count);
    return first.map(({ name }) => name).sort();
  };
  const rights = ({ first }: { first: { userName: string; verb: string; spec: string }[] }) =>
    first.map(({ userName, verb, spec }) => `${userName} ${verb} ${spec}`).sort();
  return {
    answer,
    users: { joining: names(users.joining), leaving: names(users.leaving) },
    devices: { joining: names(things.joining), leaving: names(things.leaving) },
    access: { gaining: rights(access.gaining), losing: rights(access.losing) },
  };
}

const NONE = { joining: [], leaving: [] };
const SAME = { gaining: [], losing: [] };

describe("a dry run lists added and removed recipients", () => {
  it("for a list, its subscriptions and its deletion", async () => {
    const listId = await list("Rehearsed");
    const [ann, bob, eve] = [await user("Ann"), await user("Bob"), await user("Eve")];
    const place1 = await place(listId, ann);
    await place(listId, eve);
    await place(listId, await user("Gone"), { subscriptionEndDate: "2020-01-01T00:00:00.000Z" });
    settled();
    const at = `/distribution-lists/${listId}/user-subscriptions`;
    const joining = await dryRund("POST", at, { userId: bob });
    expect([joining.users, joining.devices, joining.access]).toEqual([{ joining: ["Bob"], leaving: [] }, NONE, SAME]);
    expect(joining.answer.body).toMatchObject({ userId: bob, distributionListId: listId });
    expect(joining.answer.headers.get("etag")).toBeNull();
    expect((await dryRund("DELETE", `${at}/${place1}`)).users).toEqual({ joining: [], leaving: ["Ann"] });
    const ended = { subscriptionEndDate: "2020-01-01T00:00:00.000Z" };
    expect((await dryRund("PUT", `${at}/${place1}`, ended)).users).toEqual({ joining: [], leaving: ["Ann"] });
    const deletion = await dryRund("DELETE", `/distribution-lists/${listId}`);
    expect(deletion.users).toEqual({ joining: [], leaving: ["Ann", "Eve"] });
    expect(deletion.answer.body).toMatchObject({
      message: `deleted ${listId}`,
      dryRun: { users: { leaving: { count: 2 } } },
    });
    expect((await dryRund("PUT", `/distribution-lists/${listId}`, { name: "Renamed" })).users).toEqual(NONE);
  });

  it("for a template whose lists overlap", async () => {
    const [one, two] = [await list("One"), await list("Two")];
    const [cid, dan, kim] = [await user("Cid"), await user("Dan"), await user("Kim")];
    await place(one, cid);
    await place(one, dan);
    await place(two, dan);
    await place(two, kim);
    const template = { name: "T", subject: "S", distributionListIds: [one] };
    const id = await make("/message-templates", template);
    settled();
    const changed = await dryRund("PUT", `/message-templates/${id}`, { distributionListIds: [two], userIds: [cid] });
    expect(changed.users).toEqual({ joining: ["Kim"], leaving: [] });
    const swapped = await dryRund("PUT", `/message-templates/${id}`, { distributionListIds: [two] });
    expect(swapped.users).toEqual({ joining: ["Kim"], leaving: ["Cid"] });
    expect((await dryRund("POST", "/message-templates", template)).users.joining).toEqual(["Cid", "Dan"]);
  });

  it("for a device group and a template that names it", async () => {
    const extension = await api.store.create(extensions, { name: "e", type: "endpoint-proxy" }, api.system);
    const endpoint = await api.store.create(endpoints, { extensionId: extension.id, name: "p" }, api.system);
    const own = { extensionId: extension.id, endpointId: endpoint.id, type: "phones" };
    for (const name of ["North 1", "North 2", "South 1"]) {
      const device = { ...own, deviceIdentifier: `SEP${name}`, description: name };
      await api.store.create(devices, device, api.system);
    }
    const begins = (value: string) => ({
      filterType: "OR",
      filters: [{ attribute: "Description", comparison: "BEGINS_WITH", value }],
    });
    const id = await make("/device-groups", { name: "North", ...begins("North") });
    settled();
    const turned = await dryRund("PUT", `/device-groups/${id}`, begins("South"));
    expect(turned.devices).toEqual({ joining: ["South 1"], leaving: ["North 1", "North 2"] });
    expect(turned.users).toEqual(NONE);
    expect((await dryRund("DELETE", `/device-groups/${id}`)).devices.leaving).toEqual(["North 1", "North 2"]);
    const template = { name: "T", subject: "S", deviceGroupIds: [id] };
    expect((await dryRund("POST", "/message-templates", template)).devices.joining).toEqual(["North 1", "North 2"]);
  });
});

describe("a dry run lists granted and revoked access", () => {
  it("by permissions, memberships and groups, unless another rule grants the same", async () => {
    const group = await make("/security-groups", { name: "Readers" });
    const other = await make("/security-groups", { name: "Others" });
    const [max, mia, zoe] = [await user("Max"), await user("Mia"), await user("Zoe")];
    const grant = { verb: "get", spec: "/users/*" };
    const permission = await make(`/security-groups/${group}/permissions`, grant);
    await make(`/security-groups/${other}/permissions`, grant);
    const membership = await make(`/security-groups/${group}/members`, { userId: max });
    await make(`/security-groups/${group}/members`, { userId: mia });
    await make(`/security-groups/${group}/members`, { userId: api.adminId });
    await make(`/security-groups/${other}/members`, { userId: mia });
    settled();
    const at = `/security-groups/${group}`;
    const joined = await dryRund("POST", `${at}/members`, { userId: zoe });
    expect([joined.access, joined.users]).toEqual([{ gaining: ["Zoe get /users/*"], losing: [] }, NONE]);
    expect((await dryRund("DELETE", `${at}/members/${membership}`)).access.losing).toEqual(["Max get /users/*"]);
    expect((await dryRund("PUT", `${at}/permissions/${permission}`, { spec: "/sites/*" })).access).toEqual({
      gaining: ["Max get /sites/*", "Mia get /sites/*"],
      losing: ["Max get /users/*"],
    });
    expect((await dryRund("DELETE", at)).access.losing).toEqual(["Max get /users/*"]);
    const raised = await dryRund("PUT", at, { superGroup: true });
    expect(raised.access).toEqual({ gaining: ["Max * *", "Mia * *"], losing: [] });
    const own = await dryRund("POST", `/users/${mia}/user-permissions`, { verb: "get", spec: "/users/*" });
    expect(own.access).toEqual(SAME);
  });

  it("in a domain, unless the permission is held everywhere or in an ancestor", async () => {
    const north = await make("/domains", { name: "North", parentId: api.rootId });
    const hall = await make("/domains", { name: "Hall", parentId: north });
    const [uma, ole] = [await user("Uma"), await user("Ole")];
    const grant = { verb: "get", spec: "/sites/*" };
    const inNorth = await make(`/domains/${north}/user-permissions`, { ...grant, userId: uma });
    const everywhere = await make(`/users/${ole}/user-permissions`, grant);
    await make(`/domains/${hall}/user-permissions`, { ...grant, userId: ole });
    settled();
    const give = (at: string, userId: string) =>
      dryRund("POST", `/domains/${at}/user-permissions`, { ...grant, userId });
    expect((await give(hall, uma)).access).toEqual(SAME);
    expect((await give(north, ole)).access).toEqual(SAME);
    const zed = await dryRund("POST", `/users/${uma}/user-permissions`, grant);
    expect(zed.access.gaining).toEqual(["Uma get /sites/*"]);
    expect(zed.answer.body.dryRun.access.gaining.first[0].domainId).toBeNull();
    const lost = await dryRund("DELETE", `/domains/${north}/user-permissions/${inNorth}`);
    expect(lost.answer.body.dryRun.access.losing.first).toMatchObject([{ userId: uma, ...grant, domainId: north }]);
    // A grant in the hall does not make good for one everywhere.
    expect((await dryRund("DELETE", `/users/${ole}/user-permissions/${everywhere}`)).access.losing).toHaveLength(1);
  });
});

describe("a dry run", () => {
  it("refuses what the write would refuse", async () => {
    const listId = await list("Strict");
    const ann = await user("Ann");
    await place(listId, ann);
    const reader = await api.user("Reader", "get /distribution-lists/*");
    const at = `/distribution-lists/${listId}`;
    const status = async (...[method, path, sending]: Parameters<ApiFixture["call"]>) =>
      (await api.call(method, `${path}?dryRun=true`, sending)).status;
    // The audit keeps what was forbidden.
    expect(await status("PUT", at, { json: { name: "x" }, token: reader.token })).toBe(403);
    settled();
    expect(await status("POST", "/distribution-lists", { json: {} })).toBe(400);
    expect(await status("POST", `${at}/user-subscriptions`, { json: { userId: ann } })).toBe(409);
    expect(await status("PUT", at, { json: { name: "x" }, headers: { "if-match": '"1"' } })).toBe(409);
    expect(await status("DELETE", `/distribution-lists/${api.adminId}`)).toBe(404);
    expect(await status("POST", "/distribution-lists", { multipart: [["name", "y"]] })).toBe(200);
  });

  it("is refused where unsupported, before anything is written", async () => {
    settled();
    const sent = await api.call("POST", "/notifications?dryRun=true", { json: { subject: "Nobody gets this" } });
    expect(sent.body).toMatchObject({ status: 400, type: "invalid-value", errors: [{ field: "dryRun" }] });
  });

  it("omits users whom the caller may not see", async () => {
    const listId = await list("Private");
    await place(listId, await user("Secret"));
    const keeper = await api.user("Keeper", "get /distribution-lists/*", "delete /distribution-lists/*");
    settled();
    const answer = await api.call("DELETE", `/distribution-lists/${listId}?dryRun=true`, { token: keeper.token });
    expect(answer.body.dryRun.users.leaving).toEqual({ count: 1, first: [] });
    expect(answer.text).not.toContain("Secret");
  });

  it("is off for other values of the parameter", async () => {
    const answer = await api.call("POST", "/distribution-lists?dryRun=false", { json: { name: "Real" } });
    expect(answer.body).not.toHaveProperty("dryRun");
    expect((await api.call("GET", `/distribution-lists/${answer.body.id}`)).status).toBe(200);
  });

  it("handles the deletion of a very long list in chunks", async () => {
    const listId = await list("Long");
    await api.store.write((tx) => {
      tx.run(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO users (id, created_at, updated_at, name, type) SELECT uuid7(), 0, 0, 'Long ' || i, 'regular' FROM n`,
      );
      tx.run(
        `INSERT INTO subscriptions (id, created_at, updated_at, user_pk, distribution_list_pk)
         SELECT uuid7(), 0, 0, u.pk, l.pk FROM users u JOIN distribution_lists l ON l.id = ? WHERE u.name LIKE 'Long %'`,
        listId,
      );
    });
    settled();
    const { body } = await api.call("DELETE", `/distribution-lists/${listId}?dryRun=true`);
    expect([body.dryRun.users.leaving.count, body.dryRun.users.leaving.first.length]).toEqual([5_000, 100]);
  });
});
