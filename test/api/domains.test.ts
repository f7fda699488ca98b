import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken } from "../../src/auth/tokens.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
/** root > north > { hall, annex }, root > south */
let north: string;
let hall: string;
let annex: string;
let south: string;

beforeAll(async () => {
  api = await openApi(makeTempDir());
  north = await domain("North", api.rootId);
  hall = await domain("Hall", north);
  annex = await domain("Annex", north);
  south = await domain("South", api.rootId);
});
afterAll(() => api.close());

async function domain(name: string, parentId: string): Promise<string> {
  const made = await api.call("POST", "/domains", { json: { name, parentId } });
  expect(made.status, made.text).toBe(200);
  return made.body.id;
}

async function make(path: string, body: object, domainId: string): Promise<string> {
  const made = await api.call("POST", `${path}?domain=${domainId}`, { json: body });
  expect(made.status, made.text).toBe(200);
  return made.body.id;
}

const list = (name: string, at: string, isShared = false) => make("/distribution-lists", { name, isShared }, at);
const idsOf = ({ body }: ReceivedResponse): string[] => body.data.map(({ id }: { id: string }) => id);
const inDomain = (id: string) => ({ headers: { "x-service-domain": id } });

/** A user in a domain, with grants given as `verb spec`. */
async function person(at: string, ...grants: string[]): Promise<{ id: string; token: string }> {
  const user = await api.user("Somebody", ...grants);
  await api.store.update(users, user.id, {}, api.system, { domainId: at });
  return user;
}

describe("the tree", () => {
  it("keeps paths of ids and names", async () => {
    const { body } = await api.call("GET", `/domains/${hall}`);
    expect(body).toMatchObject({
      path: `${api.rootId}/${north}/${hall}`,
      namePath: "Root/North/Hall",
      parentId: north,
    });
    expect(body.permissions).toEqual(["get", "put", "delete"]);
  });

  it("puts a domain below the acting one unless a parent is given", async () => {
    const made = await api.call("POST", "/domains", { json: { name: "Attic" }, ...inDomain(annex) });
    expect(made.body).toMatchObject({ parentId: annex, namePath: "Root/North/Annex/Attic" });
    await api.call("DELETE", `/domains/${made.body.id}`);
  });

  it("rewrites the paths of everything below a renamed domain at once", async () => {
    const top = await domain("Top", api.rootId);
    const middle = await domain("Middle", top);
    const low = await domain("Low", middle);
    await api.call("PUT", `/domains/${top}`, { json: { name: "Summit", parentId: south } });
    const { body } = await api.call("GET", `/domains/${low}`);
    expect(body).toMatchObject({ namePath: "Root/Summit/Middle/Low", path: `${api.rootId}/${top}/${middle}/${low}` });
    await api.call("DELETE", `/domains/${middle}`);
    const moved = await api.call("GET", `/domains/${low}`);
    expect(moved.body).toMatchObject({
      namePath: "Root/Summit/Low",
      path: `${api.rootId}/${top}/${low}`,
      parentId: top,
    });
    await api.call("DELETE", `/domains/${top}`);
    await api.call("DELETE", `/domains/${low}`);
  });

  it("refuses a second root, a twin, unknown parents and names with a slash", async () => {
    const post = (json: object) => api.call("POST", "/domains", { json });
    expectError(await post({ name: "North" }), 409, "conflict");
    expectError(await post({ name: "x", parentId: api.adminId }), 400, "invalid-value", "parentId");
    expectError(await post({ name: "a/b" }), 400, "invalid-value", "name");
    expectError(await api.call("DELETE", `/domains/${api.rootId}`), 409, "conflict");
  });

  it("moves the contents of a deleted domain to its parent", async () => {
    const doomed = await domain("Doomed", north);
    const [alone, double, up] = [await list("alone", doomed), await list("double", doomed), await list("up", doomed)];
    await api.call("POST", `/domains/${south}/distribution-lists`, { json: { id: double } });
    await api.call("POST", `/domains/${annex}/distribution-lists`, { json: { id: up } });
    const many = await Promise.all(Array.from({ length: 120 }, (_, n) => list(`many ${n}`, doomed)));
    expect((await api.call("DELETE", `/domains/${doomed}`)).body).toMatchObject({ message: `deleted ${doomed}` });
    const where = async (id: string) => idsOf(await api.call("GET", `/distribution-lists/${id}/domains`)).sort();
    expect(await where(alone)).toEqual([north]);
    expect(await where(double)).toEqual([north, south].sort());
    expect(await where(up)).toEqual([north]);
    expect(await where(many[119] as string)).toEqual([north]);
    for (const id of [alone, double, up, ...many]) await api.call("DELETE", `/distribution-lists/${id}`);
  });
});

describe("membership", () => {
  it("is written from both sides", async () => {
    const id = await list("both sides", hall);
    const joined = await api.call("POST", `/domains/${south}/distribution-lists`, { json: { id } });
    expect(joined.body).toMatchObject({ id, name: "both sides", permissions: ["get", "delete"] });
    expect(idsOf(await api.call("GET", `/distribution-lists/${id}/domains`)).sort()).toEqual([hall, south].sort());
    expect(idsOf(await api.call("GET", `/domains/${south}/distribution-lists?name=both sides`))).toEqual([id]);
    expect((await api.call("GET", `/distribution-lists/${id}/domains/${south}`)).body.name).toBe("South");
    expect((await api.call("GET", `/domains/${hall}/distribution-lists/${id}`)).body.id).toBe(id);
    const left = await api.call("DELETE", `/distribution-lists/${id}/domains/${hall}`);
    expect(left.body).toMatchObject({ message: `deleted ${hall}` });
    expectError(await api.call("GET", `/domains/${hall}/distribution-lists/${id}`), 404, "not-found");
    expect((await api.call("GET", `/distribution-lists/${id}`)).body.domainId).toBe(south);
    expectError(await api.call("DELETE", `/domains/${south}/distribution-lists/${id}`), 409, "conflict");
    await api.call("POST", `/distribution-lists/${id}/domains`, { form: [["id", hall]] });
    expect(idsOf(await api.call("GET", `/domains/${hall}/distribution-lists`))).toContain(id);
  });

  it("never contains a domain and one of its ancestors", async () => {
    const id = await list("ladder", hall);
    await api.call("POST", `/domains/${annex}/distribution-lists`, { json: { id } });
    const at = `/domains/${north}/distribution-lists`;
    expectError(await api.call("POST", at, { json: { id } }), 400, "invalid-value", "promote");
    expectError(await api.call("POST", at, { json: { id, demote: true } }), 400, "invalid-value", "promote");
    expect((await api.call("POST", at, { json: { id, promote: true } })).status).toBe(200);
    expect(idsOf(await api.call("GET", `/distribution-lists/${id}/domains`))).toEqual([north]);
    const down = `/domains/${hall}/distribution-lists`;
    expectError(await api.call("POST", down, { json: { id, promote: true } }), 400, "invalid-value", "demote");
    expect((await api.call("POST", down, { json: { id, demote: true } })).status).toBe(200);
    expect(idsOf(await api.call("GET", `/distribution-lists/${id}/domains`))).toEqual([hall]);
  });

  it("takes known ids alone", async () => {
    const at = `/domains/${hall}/users`;
    expectError(await api.call("POST", at, { json: {} }), 400, "required", "id");
    expectError(await api.call("POST", at, { json: { id: "x" } }), 400, "invalid-value", "id");
    expectError(await api.call("POST", at, { json: { id: hall } }), 400, "invalid-value", "id");
    expectError(await api.call("GET", `/domains/${api.adminId}/users`), 404, "not-found");
  });
});

describe("the acting domain", () => {
  it("is taken from the parameter, then the header, in query, form and JSON; else the first available", async () => {
    const { token } = await person(north, "post /distribution-lists", "get /distribution-lists/*");
    const made = async (sending: object, query = ""): Promise<unknown> => {
      const answer = await api.call("POST", `/distribution-lists${query}`, { token, ...sending });
      return answer.status === 200 ? answer.body.domainId : answer.body.errors[0].field;
    };
    expect(await made({ json: { name: "a" } })).toBe(north);
    expect(await made({ json: { name: "a" }, ...inDomain(hall) })).toBe(hall);
    expect(await made({ json: { name: "a" }, ...inDomain(south) })).toBe("domain");
    expect(await made({ json: { name: "a" }, ...inDomain(hall) }, `?domain=${annex}`)).toBe(annex);
    expect(await made({ json: { name: "a", domain: annex }, ...inDomain(hall) })).toBe(annex);
    expect(await made({ json: { name: "a", domain: annex }, ...inDomain(south) })).toBe(annex);
    expect(
      await made({
        form: [
          ["name", "a"],
          ["domain", annex],
        ],
        ...inDomain(hall),
      }),
    ).toBe(annex);
    expect(
      await made({
        multipart: [
          ["name", "a"],
          ["domain", annex],
        ],
      }),
    ).toBe(annex);
    expect(await made({ json: { name: "a", domain: south } }, `?domain=${hall}`)).toBe(hall);
    expect(await made({ json: { name: "a", domain: south } })).toBe("domain");
    expect(await made({ json: { name: "a" } }, `?domain=${api.rootId}`)).toBe("domain");
  });

  it("limits lists, searches, counts and embedded rows", async () => {
    const [here, below, above, shared, aside] = [
      await list("here", north),
      await list("below", hall),
      await list("above", api.rootId),
      await list("shared", api.rootId, true),
      await list("aside", south, true),
    ];
    const all = [here, below, above, shared, aside];
    const { token, id } = await person(north, "get /distribution-lists/*", "put /distribution-lists/*");
    const seen = await api.call("GET", `/distribution-lists?${all.map((one) => `ids[]=${one}`).join("&")}`, { token });
    expect(idsOf(seen).sort()).toEqual([here, below, shared].sort());
    expect(seen.body.total).toBe(3);
    expectError(await api.call("GET", `/distribution-lists/${aside}`, { token }), 404, "not-found");
    expectError(await api.call("GET", `/distribution-lists/${above}`, { token }), 404, "not-found");
    const permissions = Object.fromEntries(
      seen.body.data.map((row: { id: string; permissions: [] }) => [row.id, row.permissions]),
    );
    expect(permissions).toEqual({ [here]: ["get", "put"], [below]: ["get", "put"], [shared]: ["get"] });
    expectError(
      await api.call("PUT", `/distribution-lists/${shared}`, { token, json: { name: "mine" } }),
      403,
      "forbidden",
    );
    const inHall = await api.call("GET", "/distribution-lists", { token, ...inDomain(hall) });
    expect(idsOf(inHall)).toContain(below);
    expect(idsOf(inHall)).not.toContain(here);
    expect((await api.call("GET", `/users/${id}`, { token, ...inDomain(hall) })).body.id).toBe(id);
  });

  it("hides references to rows of other domains, and keeps them in the row", async () => {
    const [mine, other] = [await list("mine", north), await list("other", south)];
    const template = await make(
      "/message-templates",
      { name: "t", subject: "s", distributionListIds: [mine, other] },
      api.rootId,
    );
    await api.call("POST", `/message-templates/${template}/domains`, { json: { id: north, demote: true } });
    const { token } = await person(
      north,
      "get /message-templates/*",
      "put /message-templates/*",
      "get /distribution-lists/*",
    );
    const shown = await api.call("GET", `/message-templates/${template}`, { token });
    expect(shown.body.distributionListIds).toEqual([mine]);
    expect(shown.body.distributionLists.map(({ id }: { id: string }) => id)).toEqual([mine]);
    const put = await api.call("PUT", `/message-templates/${template}`, { token, json: { distributionListIds: [] } });
    expect(put.body.distributionListIds).toEqual([]);
    expect((await api.call("GET", `/message-templates/${template}`)).body.distributionListIds).toEqual([other]);
    const foreign = await api.call("PUT", `/message-templates/${template}`, {
      token,
      json: { distributionListIds: [other] },
    });
    expect(foreign.status).toBe(200);
    const created = await api.call("POST", "/message-templates", {
      token: (await person(north, "post /message-templates", "get /distribution-lists/*")).token,
      json: { name: "x", subject: "s", distributionListIds: [other] },
    });
    expectError(created, 400, "invalid-value", "distributionListIds");
  });
});

describe("permissions within a domain", () => {
  it("hold there and below, not above or beside", async () => {
    const { id, token } = await person(south);
    const give = (at: string, verb: string, spec: string) =>
      api.call("POST", `/domains/${at}/user-permissions`, { json: { userId: id, verb, spec } });
    expect((await give(north, "get", "/distribution-lists/*")).body).toMatchObject({ domainId: north, userId: id });
    await give(north, "post", "/distribution-lists");
    await give(north, "put", "/brandings/*");
    const status = async (at: string, json?: object) =>
      (
        await api.call(json ? "POST" : "GET", "/distribution-lists", {
          token,
          ...(json ? { json } : {}),
          ...inDomain(at),
        })
      ).status;
    expect(await status(north)).toBe(200);
    expect(await status(hall, { name: "new" })).toBe(200);
    expect(await status(south)).toBe(403);
    expect(await status(api.rootId)).toBe(400);
    expect(idsOf(await api.call("GET", `/domains/${north}/user-permissions`))).toHaveLength(3);
  });

  it("apply to groups, and do not reach organisation-wide resources", async () => {
    const { id, token } = await person(north);
    const group = await make("/security-groups", { name: "Local" }, north);
    await api.call("POST", `/security-groups/${group}/members`, { json: { userId: id } });
    const grant = (verb: string, spec: string) =>
      api.call("POST", `/domains/${north}/security-group-permissions`, {
        json: { securityGroupId: group, verb, spec },
      });
    await grant("get", "/extensions/*");
    await grant("put", "/extensions/*");
    await api.call("POST", "/extensions", { json: { name: "e", type: "report" } });
    const [extension] = idsOf(await api.call("GET", "/extensions"));
    const shown = await api.call("GET", `/extensions/${extension}`, { token });
    expect(shown.body.permissions).toEqual(["get"]);
    expectError(await api.call("PUT", `/extensions/${extension}`, { token, json: { name: "f" } }), 403, "forbidden");
  });

  it("are delegated within the delegating user's scope only", async () => {
    const admin = await person(
      north,
      "post /users/*/user-permissions",
      "post /domains/*/user-permissions",
      "get /users/*",
      "post /domains/*/users",
      "post /users/*/tokens",
    );
    await api.call("POST", `/domains/${north}/user-permissions`, {
      json: { userId: admin.id, verb: "put", spec: "/sites/*" },
    });
    const friend = await person(north);
    const by = { token: admin.token };
    const give = (path: string, json: object) => api.call("POST", path, { ...by, json });
    const limited = { userId: friend.id, verb: "put", spec: "/sites/*" };
    expect((await give(`/domains/${hall}/user-permissions`, limited)).status).toBe(200);
    expectError(await give(`/users/${friend.id}/user-permissions`, limited), 403, "forbidden");
    expectError(await give(`/domains/${south}/user-permissions`, limited), 404, "not-found");
    const group = await make("/security-groups", { name: "Keepers" }, hall);
    const through = async (path: string, more: object, domainId: string) => {
      const made = await api.call("POST", path, { ...by, json: { verb: "put", spec: "/sites/*", ...more, domainId } });
      return made.status;
    };
    await api.call("POST", `/domains/${north}/user-permissions`, {
      json: { userId: admin.id, verb: "post", spec: "/security-groups/*/permissions" },
    });
    await api.call("POST", `/domains/${north}/user-permissions`, {
      json: { userId: admin.id, verb: "get", spec: "/security-groups/*" },
    });
    expect(await through(`/users/${friend.id}/user-permissions`, {}, hall)).toBe(200);
    expect(await through(`/users/${friend.id}/user-permissions`, { verb: "delete" }, hall)).toBe(403);
    expect([403, 400]).toContain(await through(`/users/${friend.id}/user-permissions`, {}, south));
    expect(await through(`/security-groups/${group}/permissions`, {}, hall)).toBe(200);
    expect(await through(`/security-groups/${group}/permissions`, { verb: "delete" }, hall)).toBe(403);
    expect([403, 400]).toContain(await through(`/security-groups/${group}/permissions`, {}, south));
    const open = { verb: "get", spec: "/users/*" };
    expect((await give(`/users/${friend.id}/user-permissions`, open)).status).toBe(200);
    const wide = await person(north);
    await api.call("POST", `/domains/${south}/users`, { json: { id: wide.id } });
    expectError(await give(`/users/${wide.id}/user-permissions`, open), 403, "forbidden");
    const boss = await person(north, "delete /users/*");
    expectError(await give(`/users/${boss.id}/tokens`, { name: "t" }), 403, "forbidden");
    expectError(await give(`/domains/${hall}/users`, { id: boss.id, demote: true }), 403, "forbidden");
  });
});

describe("OAuth scopes", () => {
  it("leave what they name", async () => {
    const { row, token } = await createToken(api.store, api.adminId, { name: "narrow" }, api.system);
    await api.store.update(userTokens, row.id, {}, api.system, { scope: "urn:service:users:read offline_access" });
    expect((await api.call("GET", "/users", { token })).status).toBe(200);
    expectError(await api.call("POST", "/users", { token, json: { name: "x" } }), 403, "forbidden");
    expectError(await api.call("GET", "/domains", { token }), 403, "forbidden");
    const { body } = await api.call("GET", `/users/${api.adminId}`, { token });
    expect(body.permissions).toEqual(["get"]);
    await api.store.update(userTokens, row.id, {}, api.system, { scope: "urn:service:users:write" });
    expectError(await api.call("GET", "/users", { token }), 403, "forbidden");
    const other = await person(north, "delete /users/*");
    expectError(await api.call("POST", `/users/${other.id}/tokens`, { token, json: { name: "t" } }), 404, "not-found");
  });
});
