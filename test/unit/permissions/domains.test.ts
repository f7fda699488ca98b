import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithinAny, readDomainTree } from "../../../src/permissions/domain-tree.ts";
import { explainPermission, listUserGrants } from "../../../src/permissions/permission-explanation.ts";
import { intersectVisibility, uniteVisibility } from "../../../src/permissions/row-visibility.ts";
import { cloneGroupToDomains, readAllowList } from "../../../src/permissions/security-group-actions.ts";
import { compileTokenScopes } from "../../../src/permissions/token-scopes.ts";
import domains from "../../../src/resources/domains/domains.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import users from "../../../src/resources/people/users.ts";
import securityGroupMembers from "../../../src/resources/security/security-group-members.ts";
import securityGroupPermissions from "../../../src/resources/security/security-group-permissions.ts";
import securityGroups from "../../../src/resources/security/security-groups.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "./access-fixture.ts";

let fixture: AccessFixture;
/** root > north > hall, root > south */
let north: string;
let hall: string;
let south: string;

beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
  const make = async (name: string, parentId: string) =>
    (await fixture.store.create(domains, { name, parentId }, fixture.system)).id;
  north = await make("North", fixture.rootId);
  hall = await make("Hall", north);
  south = await make("South", fixture.rootId);
});
afterAll(() => fixture.close());

async function person(at: string, ...grants: string[]): Promise<{ id: string; token: string }> {
  const user = await fixture.user("Somebody", ...grants);
  await fixture.store.update(users, user.id, {}, fixture.system, { domainId: at });
  return user;
}

const scopeIn = (token: string, at: string | null) => fixture.access.resolveScope(fixture.principal(token), at);

describe("domain tree", () => {
  it("knows ancestors and descendants", () => {
    const { byId, root } = readDomainTree(fixture.store);
    const [n, h] = [byId.get(north), byId.get(hall)];
    expect(root?.within.map(({ id }) => id).sort()).toEqual([fixture.rootId, north, hall, south].sort());
    expect(h?.above.map(({ id }) => id)).toEqual([north, fixture.rootId]);
    expect(h && n && isWithinAny(h, new Set([n]))).toBe(true);
    expect(n && h && isWithinAny(n, new Set([h]))).toBe(false);
  });
});

describe("visibility conditions", () => {
  const a = { sql: "a", params: [1] };
  const b = { sql: "b", params: [2] };
  it("combine with all and none", () => {
    expect(intersectVisibility(a, b)).toEqual({ sql: "(a) AND (b)", params: [1, 2] });
    expect(uniteVisibility(a, b)).toEqual({ sql: "(a) OR (b)", params: [1, 2] });
    expect([
      intersectVisibility(a, "all"),
      intersectVisibility("none", a),
      uniteVisibility(a, "none"),
      uniteVisibility("all", a),
    ]).toEqual([a, "none", a, "all"]);
  });
});

describe("token scopes", () => {
  it.each([
    [["urn:service:users:read"], "get", "users", true],
    [["urn:service:users:read"], "put", "users", false],
    [["urn:service:users:write"], "delete", "users", true],
    [["urn:service:users:write"], "get", "users", false],
    [["urn:service:users:read"], "get", "sites", false],
    [["offline_access"], "get", "users", false],
    [["urn:service:users:admin", "users"], "get", "users", false],
  ] as const)("%j for %s %s: %s", (scopes, method, first, allowed) => {
    expect(compileTokenScopes(scopes)?.allows(method, first)).toBe(allowed);
  });
  it("do not restrict a token without scopes", () => expect(compileTokenScopes(null)).toBeNull());
});

describe("acting domain", () => {
  it("adds no condition in the root", async () => {
    const { token } = await person(fixture.rootId, "get /users/*");
    const scope = scopeIn(token, null);
    expect(scope.visible(users)).toBe("all");
    expect(scope.domainVisibility.visible(securityGroupMembers)).toBe("all");
    expect(scope.changeable.visible(distributionLists)).toBe("all");
  });

  it("defaults to the first available one by name path", async () => {
    const { id, token } = await person(south);
    expect(scopeIn(token, null).domainId).toBe(south);
    await fixture.store.update(users, id, {}, fixture.system, { alsoIn: [hall] });
    expect(scopeIn(token, null).domainId).toBe(hall);
    const grant = { userId: id, verb: "get", spec: "/users/*", domainId: north };
    await fixture.store.create(userPermissions, grant, fixture.system);
    expect(scopeIn(token, null).domainId).toBe(north);
  });

  it("defaults to the first one with rights, below or above those that have none", async () => {
    const { id, token } = await person(fixture.rootId);
    expect(scopeIn(token, null).domainId).toBe(fixture.rootId);
    const grant = (domainId: string | null) =>
      fixture.store.create(userPermissions, { userId: id, verb: "get", spec: "/users/*", domainId }, fixture.system);
    await grant(south);
    expect(scopeIn(token, null).domainId).toBe(south);
    expect(scopeIn(token, null).allows("get", "/users")).toBe(true);
    await grant(hall);
    expect(scopeIn(token, null).domainId).toBe(hall);
    await grant(null);
    expect(scopeIn(token, null).domainId).toBe(fixture.rootId);
  });

  it("is resolved again when the tree changes", async () => {
    const { token } = await person(north, "get /users/*");
    const before = scopeIn(token, null);
    expect(scopeIn(token, null)).toBe(before);
    const { id } = await fixture.store.create(domains, { name: "New", parentId: north }, fixture.system);
    expect(scopeIn(token, null).canAssign(id)).toBe(true);
    await fixture.store.remove(domains, id, fixture.system);
    expect(() => scopeIn(token, id)).toThrow();
  });

  it("can be any domain for a super user", async () => {
    const { id, token } = await person(south);
    const member = { securityGroupId: fixture.adminsId, userId: id };
    const { id: memberId } = await fixture.store.create(securityGroupMembers, member, fixture.system);
    expect(scopeIn(token, hall).allows("delete", "/extensions/x")).toBe(true);
    expect(scopeIn(token, null).domainId).toBe(fixture.rootId);
    await fixture.store.remove(securityGroupMembers, memberId, fixture.system);
    expect(() => scopeIn(token, hall)).toThrow(expect.objectContaining({ type: "invalid-value" }));
  });
});

describe("permission limited to a domain", () => {
  it("does not allow organisation-wide changes, except sync conflicts of its rows", async () => {
    const { store, system } = fixture;
    const { id, token } = await person(north);
    for (const [verb, spec] of [
      ["post", "/link/codes"],
      ["delete", "/link/appliances/*"],
      ["delete", "/link/conflicts/*"],
    ] as const) {
      await store.create(userPermissions, { userId: id, verb, spec, domainId: north }, system);
    }
    const { allows } = scopeIn(token, north);
    expect([allows("post", "/link/codes"), allows("delete", "/link/appliances/x")]).toEqual([false, false]);
    expect(allows("delete", "/link/conflicts/x")).toBe(true);
  });
});

describe("permission explanation", () => {
  it("names grants, their sources and what is missing", async () => {
    const { store, system, catalogue, access, clock } = fixture;
    const { id } = await person(north, "get /users/*");
    const group = await store.create(securityGroups, { name: "Staff" }, system);
    await store.create(securityGroupMembers, { securityGroupId: group.id, userId: id }, system);
    const grant = { securityGroupId: group.id, verb: "put", spec: "/users/*", domainId: hall };
    await store.create(securityGroupPermissions, grant, system);
    const user = store.get(users, id) as NonNullable<ReturnType<typeof store.get<typeof users>>>;
    expect(listUserGrants(store, user, system.scope)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ from: "own", verb: "get", spec: "/users/*", domainId: null }),
        expect.objectContaining({ from: "group", securityGroupName: "Staff", domainId: hall }),
        expect.objectContaining({ from: "implicit", spec: "/session" }),
      ]),
    );
    const ask = (verb: "get" | "put", path: string, domainId: string | null) =>
      explainPermission({ user, verb, path, domainId }, { store, catalogue, access, clock }, system.scope);
    expect(ask("get", `/users/${id}`, null)).toMatchObject({ granted: true, domainId: north, missing: [] });
    expect(ask("put", `/users/${id}`, north)).toMatchObject({ granted: false, grants: [] });
    expect(ask("put", `/users/${id}`, hall).grants).toMatchObject([{ from: "group" }]);
    expect(ask("get", `/users/${fixture.adminId}`, north).missing).toEqual([
      "The resource was not found, or it is not visible in this domain.",
    ]);
    expect(ask("get", "/users", south)).toMatchObject({ granted: false, domainId: null });
  });
});

describe("security groups", () => {
  it("are cloned to domains with their permissions, all or none", async () => {
    const { store, system } = fixture;
    const group = await store.create(securityGroups, { name: "Desk" }, system);
    const grant = { securityGroupId: group.id, verb: "get", spec: "/users/*" };
    await store.create(securityGroupPermissions, grant, system);
    const copies = await cloneGroupToDomains(store, group.id, [north, south], system);
    expect(copies).toMatchObject([
      { name: "Desk", domainId: north },
      { name: "Desk", domainId: south },
    ]);
    expect(store.find(securityGroupPermissions, { securityGroupId: copies[0]?.id as string })).toHaveLength(1);
    const { token } = await person(north, "get /security-groups/*", "get /users/*");
    const mine = { ...fixture.by(token), scope: scopeIn(token, north) };
    await expect(cloneGroupToDomains(store, copies[0]?.id as string, [hall, south], mine)).rejects.toMatchObject({
      faults: [{ field: "domainIds" }],
    });
  });

  it("restrict their members to the allowed templates", async () => {
    const { store, system } = fixture;
    const { id, token } = await person(north);
    const { id: template, pk } = await store.create(messageTemplates, { name: "t", subject: "s" }, system);
    const by = fixture.by(token);
    expect(readAllowList(store, "message-templates", by)).toBeNull();
    const group = await store.create(securityGroups, { name: "Bound", allowedMessageTemplateIds: [template] }, system);
    await store.create(securityGroupMembers, { securityGroupId: group.id, userId: id }, system);
    expect([...(readAllowList(store, "message-templates", by) ?? [])]).toEqual([pk]);
    expect(readAllowList(store, "message-templates", system)).toBeNull();
  });
});
