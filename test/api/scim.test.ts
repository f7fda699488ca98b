import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createToken } from "../../src/auth/tokens.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { OwnedByCloudError } from "../../src/lib/errors.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import users from "../../src/resources/people/users.ts";
import { parseAttributeSelection } from "../../src/scim/attribute-selection.ts";
import { createScimServer } from "../../src/scim/server.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const NOBODY = "0190b7c2-7f3a-7000-8000-0000000000ff";

let api: ApiFixture;
let token: string;
let tokenId: string;

beforeAll(async () => {
  api = await openApi(makeTempDir());
  const made = await api.call("POST", "/scim-tokens", { json: { name: "Example directory" } });
  ({ token, id: tokenId } = made.body);
});
afterAll(() => api.close());

function scim(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ReceivedResponse> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return api.call(method, `/scim/v2${path}`, {
    token,
    ...sent,
    headers: { "content-type": "application/scim+json", ...headers },
  });
}

async function user(userName: string, more: object = {}): Promise<ReceivedResponse["body"]> {
  const made = await scim("POST", "/Users", { schemas: [USER], userName, ...more });
  expect([made.status, made.text.slice(0, 300)]).toEqual([201, expect.any(String)]);
  return made.body;
}

async function group(displayName: string, members: readonly string[] = []): Promise<ReceivedResponse["body"]> {
  const made = await scim("POST", "/Groups", {
    schemas: [GROUP],
    displayName,
    members: members.map((value) => ({ value })),
  });
  expect(made.status).toBe(201);
  return made.body;
}

const patch = (path: string, ...Operations: object[]) => scim("PATCH", path, { schemas: [PATCH], Operations });
const found = async (query: string, at = "/Users"): Promise<string[]> => {
  const { status, body } = await scim("GET", `${at}?${query}`);
  expect([status, body.schemas]).toEqual([200, ["urn:ietf:params:scim:api:messages:2.0:ListResponse"]]);
  return body.Resources.map((each: Record<string, string>) => each.userName ?? each.displayName);
};
const filter = (text: string, at = "/Users") => found(`filter=${encodeURIComponent(text)}`, at);

test("refuses changes of users and groups on a linked appliance", async () => {
  const at = { store: api.store, access: { systemContext: () => api.system }, clock: systemClock, baseUrl: () => "" };
  const { handlers } = createScimServer({ ...at, isManagedByCloud: () => true });
  for (const { create, type } of handlers) {
    const written = create(
      { body: { userName: "ann", displayName: "Ann" }, by: api.system },
      parseAttributeSelection(type, null, null),
    );
    await expect(written).rejects.toThrow(OwnedByCloudError);
  }
});

test("a directory takes over a self-registered account without the numbers that a stranger gave for it", async () => {
  const system = { selfRegistered: true, source: "self-registered" } as const;
  const input = { name: "Kim", email: "kim@example.org" };
  const { id: userId } = await api.store.create(users, input, api.system, system);
  const number = { userId, type: "SMS", name: "Phone", deviceIdentifier: "+4917066666666" };
  await api.store.create(userDevices, number, api.system);
  const taken = await user("kim", { emails: [{ value: "kim@example.org", primary: true }] });
  expect([taken.id, api.store.count(userDevices, { userId })]).toEqual([userId, 0]);
});

describe("the examples of RFC 7644", () => {
  test("create, read, replace, patch and delete a user", async () => {
    const given = {
      schemas: [USER],
      userName: "bjensen",
      externalId: "bjensen",
      name: { formatted: "Ms. Barbara J Jensen III", familyName: "Jensen", givenName: "Barbara" },
    };
    const made = await scim("POST", "/Users", given);
    expect(made.status).toBe(201);
    expect(made.headers.get("content-type")).toBe("application/scim+json");
    const { id, meta } = made.body;
    expect(made.body).toMatchObject({ ...given, active: true, meta: { resourceType: "User" } });
    expect(made.headers.get("location")).toBe(`http://localhost/scim/v2/Users/${id}`);
    expect([meta.location, meta.version]).toEqual([made.headers.get("location"), made.headers.get("etag")]);
    expect((await scim("POST", "/Users", { ...given, userName: "BJensen" })).body).toMatchObject({
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: "409",
      scimType: "uniqueness",
    });

    expect((await scim("GET", `/Users/${id}`)).body).toEqual(made.body);
    expect((await scim("GET", `/Users/${id}`, undefined, { "if-none-match": meta.version })).status).toBe(304);
    expect((await scim("GET", `/Users/${id}?attributes=userName`)).body).toEqual({
      schemas: [USER],
      id,
      userName: "bjensen",
    });

    expect((await scim("GET", `/Users/${id}?attributes=&excludedAttributes=`)).body).toEqual(made.body);
    expect((await scim("GET", "/Me")).body).toMatchObject({ status: "501" });

    const emails = [{ value: "bjensen@example.com", type: "work", primary: true }, { value: "babs@jensen.org" }];
    const put = { ...given, name: { ...given.name, middleName: "Jane" }, roles: [], emails };
    const stale = await scim("PUT", `/Users/${id}`, put, { "if-match": 'W/"other"' });
    expect([stale.status, stale.body.status, stale.body.scimType]).toEqual([412, "412", undefined]);
    const replaced = await scim("PUT", `/Users/${id}`, put, { "if-match": made.headers.get("etag") ?? "" });
    expect([replaced.status, replaced.body.emails, replaced.body.name.middleName]).toEqual([200, emails, "Jane"]);
    expect(replaced.body.meta.version).not.toBe(meta.version);
    expect(api.store.get(users, id)).toMatchObject({ name: "Ms. Barbara J Jensen III", email: "bjensen@example.com" });

    const patched = await patch(
      `/Users/${id}`,
      { op: "add", value: { emails: [{ value: "new@jensen.org", type: "home" }], nickName: "Babs" } },
      { op: "replace", path: 'addresses[type eq "work"].streetAddress', value: "911 Universal City Plaza" },
      { op: "remove", path: 'emails[value ew "@jensen.org"]' },
    );
    expect(patched.body).toMatchObject({
      nickName: "Babs",
      emails: [emails[0]],
      addresses: [{ type: "work", streetAddress: "911 Universal City Plaza" }],
    });
    expect((await patch(`/Users/${id}`, { op: "replace", path: "userName", value: "" })).body.scimType).toBe(
      "invalidValue",
    );

    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(204);
    expect((await scim("GET", `/Users/${id}`)).body).toMatchObject({ status: "404" });
    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(404);
  });

  test("lists are filtered, sorted and cut", async () => {
    for (const [name, title] of [
      ["ann", "Teacher"],
      ["ben", "Porter"],
      ["cat", "Teacher"],
    ] as const) {
      await user(`${name}@list.example.org`, { title, externalId: `x-${name}`, [ENTERPRISE]: { department: "East" } });
    }
    const only = 'userName ew "@list.example.org"';
    expect(await filter('userName eq "ANN@list.example.org"')).toEqual(["ann@list.example.org"]);
    expect(await filter('externalId eq "x-ben"')).toEqual(["ben@list.example.org"]);
    expect(await filter('externalId eq "X-ben"')).toEqual([]);
    expect(await filter(`title co "each" and ${only} and ${ENTERPRISE}:department sw "e"`)).toHaveLength(2);
    expect(await found(`filter=${encodeURIComponent(only)}&sortBy=title&sortOrder=descending`)).toEqual([
      "ann@list.example.org",
      "cat@list.example.org",
      "ben@list.example.org",
    ]);
    const { body } = await scim(
      "GET",
      `/Users?filter=${encodeURIComponent(only)}&startIndex=2&count=1&attributes=title`,
    );
    expect(body).toMatchObject({ totalResults: 3, startIndex: 2, itemsPerPage: 1, Resources: [{ title: "Porter" }] });
    expect((await scim("GET", "/Users?count=0")).body).toMatchObject({ itemsPerPage: 0, Resources: [] });
    const searched = await scim("POST", "/Users/.search", { filter: only, count: 2, attributes: ["userName"] });
    expect(searched.body).toMatchObject({ totalResults: 3, itemsPerPage: 2 });
    expect((await scim("GET", "/Users?filter=userName%20is%201")).body).toMatchObject({
      status: "400",
      scimType: "invalidFilter",
    });
    expect((await scim("GET", "/Users?startIndex=x")).status).toBe(400);
  });

  test("groups and their members", async () => {
    const [ann, ben] = [await user("g-ann"), await user("g-ben")];
    const guides = await group("Tour Guides", [ann.id]);
    expect(guides.members).toEqual([
      { value: ann.id, $ref: `http://localhost/scim/v2/Users/${ann.id}`, display: "g-ann", type: "User" },
    ]);
    const at = `/Groups/${guides.id}`;
    const added = await patch(at, { op: "add", path: "members", value: [{ value: ben.id }, { value: ann.id }] });
    expect([added.status, added.text]).toEqual([204, ""]);
    expect(added.headers.get("etag")).not.toBe(guides.meta.version);
    const shown = (await scim("GET", at)).body;
    expect(shown.members.map(({ value }: { value: string }) => value)).toEqual([ann.id, ben.id]);
    expect(shown.meta.version).toBe(added.headers.get("etag"));
    expect((await scim("GET", `/Users/${ben.id}`)).body.groups).toMatchObject([
      { value: guides.id, display: "Tour Guides" },
    ]);
    expect(await filter(`members[value eq "${ben.id}"]`, "/Groups")).toEqual(["Tour Guides"]);
    expect(await filter(`groups eq "${guides.id}"`)).toEqual(["g-ann", "g-ben"]);
    expect(await filter('displayName eq "tour guides"', "/Groups")).toEqual(["Tour Guides"]);
    const listed = (await scim("GET", "/Groups?excludedAttributes=members")).body.Resources;
    expect(listed[0]).not.toHaveProperty("members");

    const renamed = await patch(
      `${at}?attributes=members,displayName`,
      { op: "replace", value: { id: guides.id, displayName: "Guides" } },
      { op: "remove", path: `members[value eq "${ann.id}"]` },
    );
    expect(renamed.body).toMatchObject({ displayName: "Guides", members: [{ value: ben.id }] });
    const put = await scim("PUT", at, { displayName: "Guides", externalId: "S-1-5", members: [{ value: ann.id }] });
    expect(put.body).toMatchObject({ externalId: "S-1-5", members: [{ value: ann.id }] });
    expect((await patch(at, { op: "remove", path: "members" })).status).toBe(204);
    expect((await scim("GET", at)).body).not.toHaveProperty("members");

    for (const value of [NOBODY, api.adminId, guides.id, "bob"]) {
      const refused = await patch(at, { op: "add", path: "members", value: [{ value }] });
      expect([value, refused.body.scimType]).toEqual([value, "invalidValue"]);
    }
    expect((await scim("POST", "/Groups", { displayName: "GUIDES" })).body.scimType).toBe("uniqueness");
    expect((await scim("DELETE", at)).status).toBe(204);
    expect((await scim("GET", at)).status).toBe(404);
  });

  test("bulk requests refer to what they made", async () => {
    const { status, body } = await scim("POST", "/Bulk", {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
      failOnErrors: 2,
      Operations: [
        { method: "POST", path: "/Users", bulkId: "qwerty", data: { userName: "Alice" } },
        {
          method: "POST",
          path: "/Groups",
          bulkId: "ytrewq",
          data: { displayName: "Bulk Guides", members: [{ type: "User", value: "bulkId:qwerty" }] },
        },
        {
          method: "PATCH",
          path: "/Users/bulkId:qwerty",
          data: { Operations: [{ op: "add", path: "title", value: "T" }] },
        },
        { method: "DELETE", path: `/Users/${NOBODY}` },
        { method: "PUT", path: "/Users/bulkId:nobody", data: {} },
        { method: "DELETE", path: "/Groups/bulkId:ytrewq" },
      ],
    });
    expect([status, body.Operations.map((each: { status: string }) => each.status)]).toEqual([
      200,
      ["201", "201", "200", "404", "400"],
    ]);
    const [alice, guides] = body.Operations;
    const { members } = (await scim("GET", guides.location.replace("http://localhost/scim/v2", ""))).body;
    expect(members[0].$ref).toBe(alice.location);
    expect(body.Operations[3].response).toMatchObject({ status: "404" });
  });

  test("describe the service", async () => {
    const config = (await scim("GET", "/ServiceProviderConfig")).body;
    expect(config).toMatchObject({ patch: { supported: true }, bulk: { supported: true }, etag: { supported: true } });
    const types = (await scim("GET", "/ResourceTypes")).body;
    expect(types.Resources.map((each: { endpoint: string }) => each.endpoint)).toEqual(["/Users", "/Groups"]);
    expect((await scim("GET", "/ResourceTypes/User")).body.schemaExtensions).toEqual([
      { schema: ENTERPRISE, required: false },
    ]);
    const schema = (await scim("GET", `/Schemas/${USER}`)).body;
    const userName = schema.attributes.find((each: { name: string }) => each.name === "userName");
    expect(userName).toMatchObject({ required: true, uniqueness: "server", mutability: "readWrite", caseExact: false });
    expect((await scim("POST", "/Schemas", {})).status).toBe(405);
    expect((await scim("GET", "/Nothing")).status).toBe(404);
  });
});

describe("access to SCIM", () => {
  test("requires a valid directory token, which is valid for nothing else, until it is revoked", async () => {
    const made = await api.call("POST", "/scim-tokens", { json: { name: "Short-lived" } });
    expect(made.body.token).toMatch(/^carillon_/);
    const other = made.body.token;
    const ask = (at: string, given: string | null) => api.call("GET", at, { token: given });
    expect((await ask("/scim/v2/Users", other)).status).toBe(200);
    for (const [at, given] of [
      ["/scim/v2/Users", null],
      ["/scim/v2/Users", api.token],
      ["/users", other],
    ] as const) {
      const refused = await ask(at, given);
      expect([at, refused.status, String(refused.body.status)]).toEqual([at, 401, "401"]);
    }
    expect((await api.call("GET", `/scim-tokens/${made.body.id}`)).body).not.toHaveProperty("token");
    await api.call("DELETE", `/scim-tokens/${made.body.id}`);
    expect((await ask("/scim/v2/Users", other)).status).toBe(401);
    const clerk = await api.user("Clerk", "post /scim-tokens", "get /scim-status");
    expect((await api.call("POST", "/scim-tokens", { json: { name: "Mine" }, token: clerk.token })).status).toBe(403);

    const status = (await api.call("GET", "/scim-status", { token: clerk.token })).body;
    expect(status).toMatchObject({ url: "http://localhost/scim/v2", users: expect.any(Number) });
    expect(status.lastRequests.slice(0, 2)).toMatchObject([
      { directory: null, method: "GET", path: "/Users", status: 401 },
      { directory: null, status: 401 },
    ]);
    expect(
      api.store.all("SELECT 1 FROM audit_entries WHERE actor_name = 'scim: Example directory'").length,
    ).toBeGreaterThan(0);
    expect((await api.call("GET", `/scim-tokens/${tokenId}`)).body.lastUsedAt).toBeTruthy();
  });

  test("accounts of the appliance are none of the directory's", async () => {
    const at = `/Users/${api.adminId}`;
    expect((await scim("GET", at)).status).toBe(404);
    expect((await scim("PUT", at, { userName: "x" })).status).toBe(404);
    expect((await patch(at, { op: "replace", path: "active", value: false })).status).toBe(404);
    expect((await scim("DELETE", at)).status).toBe(404);
    expect(await filter(`id eq "${api.adminId}"`)).toEqual([]);
    const claimed = await scim("POST", "/Users", { userName: "admin@example.org" });
    expect([claimed.status, claimed.body.scimType]).toEqual([409, "uniqueness"]);

    const known = await api.store.create(users, { name: "Known", email: "known@example.org" }, api.system);
    const taken = await user("known@example.org", { displayName: "Known to the directory" });
    expect(taken.id).toBe(known.id);
    expect(api.store.get(users, known.id)).toMatchObject({ source: "scim", name: "Known to the directory" });

    const staff = await api.call("POST", "/scim-groups", { json: { name: "Mixed" } });
    await api.call("POST", `/scim-groups/${staff.body.id}/members`, { json: { userId: api.adminId } });
    await patch(`/Groups/${staff.body.id}`, { op: "remove", path: `members[value eq "${api.adminId}"]` });
    await scim("PUT", `/Groups/${staff.body.id}`, { displayName: "Mixed", members: [] });
    expect((await api.call("GET", `/scim-groups/${staff.body.id}/members`)).body.total).toBe(1);
  });

  test("refuses passwords for provisioned users and log-ins of deactivated ones", async () => {
    const { id } = await user("nopass@example.org");
    const password = { json: { password: "a long enough passphrase 1" } };
    expect((await api.call("PUT", `/users/${id}/password`, password)).status).toBe(409);
    await patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" });
    expect((await api.call("GET", `/users/${id}`)).body.isLocked).toBe(true);
    expect((await api.call("PUT", `/users/${id}`, { json: { lock: null } })).status).toBe(409);
    await patch(`/Users/${id}`, { op: "Replace", value: { active: "True" } });
    expect((await api.call("GET", `/users/${id}`)).body.isLocked).toBe(false);
  });

  test("keeps an administrator's lock while the directory reports no change", async () => {
    const { id } = await user("locked@example.org");
    await api.call("PUT", `/users/${id}`, { json: { lock: { start: "2020-01-01T00:00:00Z" } } });
    await patch(`/Users/${id}`, { op: "replace", value: { active: true, title: "X" } });
    expect((await api.call("GET", `/users/${id}`)).body.isLocked).toBe(true);
  });
});

describe("at once", () => {
  const sees = async (own: string, path: string) => (await api.call("GET", path, { token: own })).status;

  test("sessions and tokens end when the directory switches a user off or deletes it", async () => {
    const { id } = await user("leaver@example.org");
    const own = (await createToken(api.store, id, { name: "own" }, api.system)).token;
    expect(await sees(own, "/session")).toBe(200);
    await patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
    expect(await sees(own, "/session")).toBe(401);
    await patch(`/Users/${id}`, { op: "replace", path: "active", value: true });
    expect(await sees(own, "/session")).toBe(401);
    const again = (await createToken(api.store, id, { name: "again" }, api.system)).token;
    expect(await sees(again, "/session")).toBe(200);
    await scim("DELETE", `/Users/${id}`);
    expect(await sees(again, "/session")).toBe(401);
  });

  test("rights come and go with the directory's group that a security group is tied to", async () => {
    const { id } = await user("operator@example.org");
    const own = (await createToken(api.store, id, { name: "own" }, api.system)).token;
    const operators = await group("Operators");
    const security = (await api.call("POST", "/security-groups", { json: { name: "Operators" } })).body.id;
    const grant = { json: { verb: "get", spec: "/scim-groups/*" } };
    await api.call("POST", `/security-groups/${security}/permissions`, grant);
    await api.call("POST", `/security-groups/${security}/scim-groups`, { json: { scimGroupId: operators.id } });
    const at = `/Groups/${operators.id}`;
    expect(await sees(own, "/scim-groups")).toBe(403);
    await patch(at, { op: "add", path: "members", value: [{ value: id }] });
    expect(await sees(own, "/scim-groups")).toBe(200);
    await patch(at, { op: "remove", path: "members", value: [{ value: id }] });
    expect(await sees(own, "/scim-groups")).toBe(403);
    await scim("PUT", at, { displayName: "Operators", members: [{ value: id }] });
    expect(await sees(own, "/scim-groups")).toBe(200);
    await scim("DELETE", at);
    expect(await sees(own, "/scim-groups")).toBe(403);
  });
});

test("bodies that are none are refused and change nothing", async () => {
  const send = (body: string, type = "application/scim+json") =>
    api.call("POST", "/scim/v2/Users", { token, body, headers: { "content-type": type } });
  const before = (await scim("GET", "/Users?count=0")).body.totalResults;
  expect((await send("{")).body).toMatchObject({ status: "400", scimType: "invalidSyntax" });
  expect((await send("[]")).body).toMatchObject({ scimType: "invalidSyntax" });
  expect((await send("{}")).body).toMatchObject({ scimType: "invalidValue" });
  expect((await send("userName=x", "text/plain")).status).toBe(415);
  expect((await send(JSON.stringify({ userName: "x", emails: ["none"] }))).status).toBe(400);
  expect((await send(JSON.stringify({ userName: "x", title: "x".repeat(1_600_000) }))).status).toBe(413);
  expect((await scim("GET", "/Users?count=0")).body.totalResults).toBe(before);
});
