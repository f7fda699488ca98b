import { afterAll, beforeAll, describe, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";

interface Entry {
  op: string;
  resource: string;
  rowId: string | null;
  actorId: string | null;
  actorName: string;
  address: string | null;
  actingDomainId: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  details: Record<string, unknown> | null;
  permissions: string[];
}

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

async function entries(query: string, token?: string): Promise<Entry[]> {
  const answer = await daemon.call<{ data: Entry[] }>("GET", `/audit?${query}`, undefined, token);
  expect(answer.status).toBe(200);
  return answer.body.data;
}

async function logIn(password: string, email = TEST_ADMIN.email): Promise<number> {
  const { status } = await fetch(`${daemon.url}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  return status;
}

async function made(path: string, body: object): Promise<string> {
  return (await daemon.call<{ id: string }>("POST", path, body)).body.id;
}

describe("the audit", () => {
  it("records who changed what, from which address, in which domain, newest last", async () => {
    const id = await made("/users", { name: "Ann", email: "ann@users.example.org" });
    await daemon.call("PUT", `/users/${id}`, { name: "Anna" });
    await daemon.call("DELETE", `/users/${id}`);
    const told = await entries(`rowId=${id}`);
    expect(told.map(({ op, resource }) => `${op} ${resource}`)).toEqual([
      "create users",
      "update users",
      "delete users",
    ]);
    const [, changed] = told;
    expect(changed).toMatchObject({
      actorId: daemon.first.userId,
      address: "127.0.0.1",
      actingDomainId: daemon.first.domainId,
      before: { name: "Ann" },
      after: { name: "Anna", createdAt: expect.stringMatching(/Z$/) },
      permissions: ["get"],
    });
  });

  it("filters by actor, resource, operation, row and time", async () => {
    const before = new Date().toISOString();
    const id = await made("/distribution-lists", { name: "Staff" });
    const by = `actorId=${daemon.first.userId}&resource=distribution-lists&op=create&createdAt__gte=${before}`;
    expect((await entries(by)).map(({ rowId }) => rowId)).toEqual([id]);
    expect(await entries(`${by}&createdAt__lt=${before}`)).toEqual([]);
    expect(await entries(`resource=distribution-lists&op=delete`)).toEqual([]);
    expect((await daemon.call("GET", "/audit?op=nonsense")).status).toBe(400);
  });

  it("records successful and failed log-ins, without addresses of unknown users", async () => {
    const since = new Date().toISOString();
    expect(await logIn("wrong")).toBe(401);
    expect(await logIn("wrong", "my-password@example.org")).toBe(401);
    expect(await logIn(TEST_ADMIN.password)).toBe(204);
    const told = await entries(`resource=users&createdAt__gte=${since}`);
    expect(told.map(({ op, actorId, address }) => [op, actorId, address])).toEqual([
      ["log-in-refused", daemon.first.userId, "127.0.0.1"],
      ["log-in-refused", null, "127.0.0.1"],
      ["log-in", daemon.first.userId, "127.0.0.1"],
    ]);
    expect(JSON.stringify(told)).not.toContain("my-password");
  });

  it("records denied requests, the same one once a minute, and requires permission to read", async () => {
    const id = await made("/users", { name: "Bob", email: "bob@users.example.org" });
    const { token } = (await daemon.call<{ token: string }>("POST", `/users/${id}/tokens`, { name: "t" })).body;
    for (let times = 0; times < 3; times++) {
      expect((await daemon.call("POST", "/distribution-lists", { name: "Mine" }, token)).status).toBe(403);
    }
    expect((await daemon.call("GET", "/audit", undefined, token)).status).toBe(403);
    const told = await entries(`op=refused&actorId=${id}`);
    expect(told.map(({ resource, details }) => [resource, details])).toEqual([
      ["distribution-lists", { method: "POST", path: "/distribution-lists" }],
      ["audit", { method: "GET", path: "/audit" }],
    ]);
    expect(told[0]).toMatchObject({ actorName: "Bob", actingDomainId: daemon.first.domainId, address: "127.0.0.1" });
    await made(`/users/${id}/user-permissions`, { verb: "get", spec: "/audit/*" });
    expect((await entries("limit=1", token)).length).toBe(1);
  });

  it("cannot be written through the API", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await daemon.call(method, "/audit", { id: users.name });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    }
  });
});

describe("the audit of floods and of reading", () => {
  const raw = (path: string, headers: Record<string, string>, method = "GET", body?: string): Promise<number> =>
    fetch(`${daemon.url}${path}`, { method, headers, ...(body !== undefined && { body }) }).then(
      ({ status }) => status,
    );

  it("has wrong tokens and secrets, the first of each kind at once and the others summed up", async () => {
    for (let n = 0; n < 30; n++)
      expect(await raw("/api/v1/users", { authorization: `Bearer carillon_${"x".repeat(30)}${n}` })).toBe(401);
    expect(await raw("/scim/v2/Users", { authorization: "Bearer guess" })).toBe(401);
    const basic = {
      authorization: `Basic ${btoa("client:guess")}`,
      "content-type": "application/x-www-form-urlencoded",
    };
    await raw("/api/v1/oauth2/token", basic, "POST", "grant_type=client_credentials");
    // Somebody who is not logged in guesses nothing.
    expect(await raw("/api/v1/users", {})).toBe(401);
    const found = await entries("op=credential-refused&limit=100");
    const whats = found.map(({ details }) => details?.what);
    expect(whats.filter((what) => what === "access token")).toHaveLength(1);
    expect(whats).toContain("token of a directory");
    expect(found[0]).toMatchObject({ actorName: "unknown caller", address: "127.0.0.1", actorId: null });
    expect(JSON.stringify(found)).not.toContain("xxxx");
  });

  it("has who read the audit and who took reports about people along", async () => {
    await entries("limit=1");
    const { body } = await daemon.call<{ data: { id: string; name: string }[] }>("GET", "/reports");
    const people = body.data.find(({ name }) => /user/i.test(name));
    const csv = await raw(`/api/v1/reports/${people?.id}?format=csv`, {
      authorization: `Bearer ${daemon.first.token}`,
    });
    expect(csv).toBe(200);
    const found = await entries("op=read&limit=100");
    expect(found.map(({ resource }) => resource)).toEqual(expect.arrayContaining(["audit-entries", "reports"]));
    expect(found.find(({ resource }) => resource === "reports")).toMatchObject({
      actorId: daemon.first.userId,
      details: { what: `/reports/${people?.id} as csv`, count: 1 },
    });
  });

  it("has throttled log-ins", async () => {
    for (let n = 0; n < 12; n++) await logIn(`guess ${n} of a throttled one`, "throttled@example.org");
    const found = await entries("op=log-in-throttled");
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ actorName: "unknown account", address: "127.0.0.1", details: { count: 1 } });
    expect(JSON.stringify(found)).not.toContain("throttled@");
  });
});
