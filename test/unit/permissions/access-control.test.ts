import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashPassword } from "../../../src/auth/passwords.ts";
import type { Principal } from "../../../src/auth/principal.ts";
import { revokeAllTokens, revokeUserSessions } from "../../../src/auth/sessions.ts";
import { createToken, hashToken } from "../../../src/auth/tokens.ts";
import { listUserGrants } from "../../../src/permissions/permission-explanation.ts";
import type { UserScope } from "../../../src/permissions/user-scope.ts";
import domains from "../../../src/resources/domains/domains.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import scimGroupMembers from "../../../src/resources/security/scim-group-members.ts";
import scimGroups from "../../../src/resources/security/scim-groups.ts";
import securityGroupMembers from "../../../src/resources/security/security-group-members.ts";
import securityGroupPermissions from "../../../src/resources/security/security-group-permissions.ts";
import securityGroupScimGroups from "../../../src/resources/security/security-group-scim-groups.ts";
import securityGroups from "../../../src/resources/security/security-groups.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "./access-fixture.ts";

let fixture: AccessFixture;

beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
});
afterAll(() => fixture.close());

/** An appliance of the whole organisation. */
const ALL = { domainIds: null };

describe("tokens", () => {
  it("authenticate their user and are stored only as a hash", async () => {
    const { id, token } = await fixture.user("Ann");
    expect(token).toMatch(/^carillon_[\w-]{43}$/);
    expect(fixture.access.authenticate(token)).toMatchObject({ userId: id, name: "Ann", accessToken: token });
    const rows = fixture.store.find(userTokens, { userId: id });
    expect(rows).toMatchObject([{ tokenHash: hashToken(token), kind: "permanent", expires: null }]);
    expect(JSON.stringify(fixture.store.all("SELECT * FROM user_tokens"))).not.toContain(token.slice(9));
    expect(JSON.stringify(fixture.store.all("SELECT * FROM audit_entries"))).not.toContain(token.slice(9));
  });

  it.each(["", "carillon_x", "x".repeat(10_000), "\u0000", "carillon_'; DROP TABLE users"])(
    "are refused if malformed: %j",
    (token) => {
      expect(fixture.access.authenticate(token)).toBeNull();
    },
  );

  it("are refused with the commit that revokes them", async () => {
    const { id, token } = await fixture.user("Ben");
    const { tokenId } = fixture.principal(token);
    await fixture.store.remove(userTokens, tokenId, fixture.system);
    expect(fixture.access.authenticate(token)).toBeNull();
    expect(fixture.store.get(users, id)).not.toBeNull();
  });

  it("are all revoked by a new password or a directory, however many there are", async () => {
    const { id } = await fixture.user("Zoe");
    const made = (at: number) => ({ tokenHash: hashToken(`${id} ${at}`), kind: "oauth", originId: id }) as const;
    await fixture.store.write((tx) => {
      for (let at = 0; at < 1_001; at++) tx.create(userTokens, { userId: id, name: "App" }, fixture.system, made(at));
    });
    await fixture.store.write((tx) => revokeUserSessions(tx, id, fixture.system));
    expect(fixture.store.find(userTokens, { userId: id })).toMatchObject([{ kind: "permanent" }]);
    await fixture.store.write((tx) => revokeAllTokens(tx, id, fixture.system));
    expect(fixture.store.find(userTokens, { userId: id })).toEqual([]);
  });

  it("are refused after they expire", async () => {
    const { id } = await fixture.user("Cat");
    const expires = new Date(fixture.clock.now() + 60_000).toISOString();
    const { token } = await createToken(fixture.store, id, { name: "short", expires }, fixture.system);
    expect(fixture.access.authenticate(token)).not.toBeNull();
    fixture.clock.advanceSync(59_999);
    expect(fixture.access.authenticate(token)).not.toBeNull();
    fixture.clock.advanceSync(1);
    expect(fixture.access.authenticate(token)).toBeNull();
    const late = createToken(fixture.store, id, { name: "late", expires }, fixture.system);
    await expect(late).rejects.toMatchObject({ type: "invalid-value", faults: [{ field: "expires" }] });
  });

  it("are refused while the user is locked and after it is deleted", async () => {
    const { id, token } = await fixture.user("Dan");
    fixture.principal(token);
    const at = (ms: number) => new Date(fixture.clock.now() + ms).toISOString();
    await fixture.store.update(users, id, { lock: { start: at(1_000), end: at(2_000) } }, fixture.system);
    expect(fixture.access.authenticate(token)).not.toBeNull();
    fixture.clock.advanceSync(1_000);
    expect(fixture.access.authenticate(token)).toBeNull();
    fixture.clock.advanceSync(1_000);
    expect(fixture.access.authenticate(token)).not.toBeNull();
    await fixture.store.update(users, id, { lock: { start: at(0), end: null } }, fixture.system);
    expect(fixture.access.authenticate(token)).toBeNull();
    await fixture.store.update(users, id, { lock: null }, fixture.system);
    expect(fixture.access.authenticate(token)).not.toBeNull();
    await fixture.store.remove(users, id, fixture.system);
    expect(fixture.access.authenticate(token)).toBeNull();
  });

  it("reflect a new user name at once", async () => {
    const { id, token } = await fixture.user("Eve");
    fixture.principal(token);
    await fixture.store.update(users, id, { name: "Eva" }, fixture.system);
    expect(fixture.principal(token).name).toBe("Eva");
  });

  it("are accepted from their addresses only, and keep the address of the last use", async () => {
    const { id } = await fixture.user("Ann");
    const addresses = ["192.0.2.0/24", "2001:db8::/32"];
    const { row, token } = await createToken(fixture.store, id, { name: "limited", addresses }, fixture.system);
    const from = (address: string | null) => fixture.access.authenticate(token, "bearer", true, address) !== null;
    const asked = ["192.0.2.255", "192.0.3.1", "2001:db8::7", "2001:db9::7", "::ffff:192.0.2.9", "unknown", null];
    expect(asked.map(from)).toEqual([true, false, true, false, true, false, false]);
    expect(from("192.0.2.7")).toBe(true);
    from("198.51.100.1");
    await fixture.clock.advance(60_000);
    expect(fixture.store.get(userTokens, row.id)).toMatchObject({ lastUsedAddress: "192.0.2.7" });
  });

  it("record their last use at most once a minute, without audit or feed entries", async () => {
    const { token } = await fixture.user("Flo");
    const { tokenId } = fixture.principal(token);
    const changes = () => fixture.store.one("SELECT max(seq) AS seq FROM changes");
    const before = changes();
    const usedAt = fixture.clock.now();
    await fixture.clock.advance(60_000);
    await fixture.store.write(() => undefined);
    expect(fixture.store.get(userTokens, tokenId)?.lastUsedAt).toBe(usedAt);
    expect(changes()).toEqual(before);
  });
});

describe("acting domain", () => {
  it("accepts the root in any case and rejects other domains", async () => {
    const { token } = await fixture.user("Gil");
    const principal = fixture.principal(token);
    expect(fixture.access.resolveScope(principal, null).domainId).toBe(fixture.rootId);
    expect(fixture.access.resolveScope(principal, fixture.rootId.toUpperCase()).domainId).toBe(fixture.rootId);
    for (const domain of ["", "root", fixture.adminsId]) {
      expect(() => fixture.access.resolveScope(principal, domain)).toThrow(
        expect.objectContaining({ type: "invalid-value", faults: [expect.objectContaining({ field: "domain" })] }),
      );
    }
  });
});

describe("scopes", () => {
  it("show a new user only its own rows", async () => {
    const { id, token } = await fixture.user("Hal");
    const other = await fixture.user("Ida");
    const scope = fixture.scope(token);
    for (const userId of [id, other.id]) {
      const device = { userId, type: "email", deviceIdentifier: `${userId}@example.org` };
      await fixture.store.create(userDevices, device, fixture.system);
    }
    expect(fixture.store.page(users, { scope }).rows.map((row) => row.id)).toEqual([id]);
    expect(fixture.store.get(users, other.id, scope)).toBeNull();
    expect(fixture.store.page(userDevices, { scope }).rows.map((row) => row.userId)).toEqual([id]);
    expect(fixture.store.page(userTokens, { scope }).rows.map((row) => row.userId)).toEqual([id]);
    expect(scope.visible(securityGroups)).toBe("none");
    expect(scope.allows("get", "/users")).toBe(true);
    expect(scope.allows("get", `/users/${id}`)).toBe(true);
    expect(scope.allows("put", `/users/${id}`)).toBe(false);
    expect(scope.allows("post", `/users/${id}/devices`)).toBe(true);
    expect(scope.allows("post", `/users/${other.id}/devices`)).toBe(false);
    expect(scope.allows("post", `/users/${id}/tokens`)).toBe(false);
    expect(scope.allows("get", "/session")).toBe(true);
    expect(scope.allows("post", "/notifications")).toBe(false);
  });

  it("reflect permissions, memberships and groups at once", async () => {
    const { id, token } = await fixture.user("Jon");
    const { store, system } = fixture;
    const allowed = () => fixture.scope(token).allows("get", "/distribution-lists");
    const steps: [() => Promise<unknown>, boolean][] = [];
    const group = await store.create(securityGroups, { name: "Staff" }, system);
    const grant = { securityGroupId: group.id, verb: "get", spec: "/distribution-lists/*" };
    const { id: grantId } = await store.create(securityGroupPermissions, grant, system);
    steps.push([() => store.create(securityGroupMembers, { securityGroupId: group.id, userId: id }, system), true]);
    steps.push([() => store.update(securityGroupPermissions, grantId, { verb: "put" }, system), false]);
    steps.push([() => store.update(securityGroups, group.id, { superGroup: true }, system), true]);
    steps.push([() => store.remove(securityGroups, group.id, system), false]);
    steps.push([() => store.create(userPermissions, { ...grant, userId: id }, system), true]);
    expect(allowed()).toBe(false);
    for (const [step, expected] of steps) {
      await step();
      expect(allowed()).toBe(expected);
    }
  });

  it("restrict rows to the ids of grants, which add up", async () => {
    const [one, two, three] = await Promise.all(["Kim", "Lea", "Max"].map((name) => fixture.user(name)));
    const ids = [one?.id, two?.id];
    const { id, token } = await fixture.user("Nia", `get /users/${one?.id}`, `get /users/${two?.id}`);
    const scope = fixture.scope(token);
    const seen = fixture.store.page(users, { scope }).rows.map((row) => row.id);
    expect(seen.sort()).toEqual([...ids, id].sort());
    expect(fixture.store.get(users, three?.id as string, scope)).toBeNull();
  });

  it("keep the restriction of the original token for temporary tokens", async () => {
    const { id } = await fixture.user("Quy", "put /users/*", "post /sites");
    const narrow = fixture.access.issueTemporaryToken({ userId: id, scopes: ["urn:service:sites:write"] }, ALL);
    const whole = fixture.access.issueTemporaryToken({ userId: id, scopes: null }, ALL);
    const may = (token: string): boolean[] => {
      const { allows } = fixture.scope(token);
      return [allows("put", `/users/${id}`), allows("post", "/sites")];
    };
    expect([may(narrow.token), may(whole.token)]).toEqual([
      [false, true],
      [true, true],
    ]);
    narrow.end();
    expect(fixture.access.authenticate(narrow.token)).toBeNull();
  });

  it("limit users who act through an appliance to its domains, never with super permissions", async () => {
    const { store, system, adminId, access } = fixture;
    const root = system.scope.domainId as string;
    const make = async (name: string, parentId: string) => (await store.create(domains, { name, parentId }, system)).id;
    const north = await make("North", root);
    const [school, south] = [await make("School", north), await make("South", root)];
    const { id: delegate } = await fixture.user("Ida", "post /users", "put /extensions/*");
    const through = (userId: string, domainIds: readonly string[] | null, domain: string | null = null) => {
      const { token } = access.issueTemporaryToken({ userId, scopes: null }, { domainIds });
      return access.resolveScope(access.authenticate(token) as Principal, domain) as UserScope;
    };
    const superRights = { superUser: true, grants: [] };
    const scope = through(adminId, [north]);
    expect([scope.domainId, scope.allows("post", "/users"), scope.allows("put", "/extensions/x")]).toEqual([
      north,
      true,
      false,
    ]);
    expect([scope.canDelegate(superRights, []), scope.canAssign(school), scope.canAssign(south)]).toEqual([
      false,
      true,
      false,
    ]);
    expect(() => through(adminId, [north], south)).toThrow("domain");
    expect(() => through(adminId, [north], root)).toThrow("domain");
    const whole = through(adminId, null);
    expect([whole.allows("put", "/extensions/x"), whole.canDelegate(superRights, [])]).toEqual([true, false]);
    const limited = through(delegate, [north]);
    expect([limited.allows("post", "/users"), limited.allows("put", "/extensions/x")]).toEqual([true, false]);
    expect(through(delegate, null).allows("put", "/extensions/x")).toBe(true);
  });

  it("have no limits for super users and the system", async () => {
    const { token } = await createToken(fixture.store, fixture.adminId, { name: "admin" }, fixture.system);
    for (const scope of [fixture.scope(token), fixture.system.scope]) {
      expect(scope.allows("delete", `/users/${fixture.adminId}/devices/x`)).toBe(true);
      expect(scope.visible(users)).toBe("all");
    }
  });
});

describe("delegation", () => {
  it("requires the permission to delegate and the delegated rights", async () => {
    const { store, adminsId } = fixture;
    const { id: otherId } = await fixture.user("Oda");
    const { id, token } = await fixture.user("Pia", "get /users/*", "post /distribution-lists");
    const by = fixture.by(token);
    const give = (verb: string, spec: string) => store.create(userPermissions, { userId: otherId, verb, spec }, by);
    await give("get", "/users/*");
    await give("get", `/users/${id}`);
    await give("post", "/distribution-lists/*");
    for (const [verb, spec] of [
      ["put", "/users/*"],
      ["get", "/users/*/devices/*"],
      ["delete", "/distribution-lists/*"],
    ] as const) {
      await expect(give(verb, spec)).rejects.toMatchObject({ type: "forbidden" });
    }
    const join = store.create(securityGroupMembers, { securityGroupId: adminsId, userId: id }, by);
    await expect(join).rejects.toMatchObject({ type: expect.stringMatching(/forbidden|invalid-value/) });
    const group = store.create(securityGroups, { name: "Mine", superGroup: true }, by);
    await expect(group).rejects.toMatchObject({ type: "forbidden" });
    const stolen = createToken(store, fixture.adminId, { name: "x" }, by);
    await expect(stolen).rejects.toMatchObject({ type: expect.stringMatching(/forbidden|invalid-value/) });
    expect(store.find(userTokens, { userId: fixture.adminId, name: "x" })).toEqual([]);
  });

  it("covers directory group links and memberships", async () => {
    const { store, system, adminsId } = fixture;
    const { id, token } = await fixture.user("Tia", "get /users/*", "get /security-groups/*", "get /scim-groups/*");
    const by = fixture.by(token);
    const staff = await store.create(scimGroups, { name: "Staff" }, system);
    const readers = await store.create(securityGroups, { name: "Readers" }, system);
    const reading = { securityGroupId: readers.id, verb: "get", spec: "/users/*" };
    await store.create(securityGroupPermissions, reading, system);
    const tie = (securityGroupId: string) =>
      store.create(securityGroupScimGroups, { securityGroupId, scimGroupId: staff.id }, by);
    const join = () => store.create(scimGroupMembers, { scimGroupId: staff.id, userId: id }, by);
    await expect(tie(adminsId)).rejects.toMatchObject({ type: "forbidden" });
    await tie(readers.id);
    const joined = await join();
    await store.remove(scimGroupMembers, joined.id, system);
    await store.create(securityGroupPermissions, { ...reading, verb: "delete" }, system);
    await expect(join()).rejects.toMatchObject({ type: "forbidden" });
    expect(store.count(scimGroupMembers, { scimGroupId: staff.id })).toBe(0);
  });

  it("gives members of a linked directory group its rights until membership or link ends", async () => {
    const { store, system, access, adminsId } = fixture;
    const { id, token } = await fixture.user("Dora");
    const may = (): boolean => fixture.by(token).scope.allows("get", "/sites");
    const staff = await store.create(scimGroups, { name: "Crew" }, system);
    const readers = await store.create(securityGroups, { name: "Site readers" }, system);
    const reading = { securityGroupId: readers.id, verb: "get", spec: "/sites/*" };
    await store.create(securityGroupPermissions, reading, system);
    const join = () => store.create(scimGroupMembers, { scimGroupId: staff.id, userId: id }, system);
    const tie = (securityGroupId: string) =>
      store.create(securityGroupScimGroups, { securityGroupId, scimGroupId: staff.id }, system);
    expect(may()).toBe(false);
    const [tied, joined] = [await tie(readers.id), await join()];
    expect(may()).toBe(true);
    const user = store.get(users, id) as NonNullable<ReturnType<typeof store.get<typeof users>>>;
    const { scope } = access.systemContext("test");
    const told = () => listUserGrants(store, user, scope).filter(({ from }) => from !== "implicit");
    expect(told()).toMatchObject([{ from: "group", spec: "/sites/*", securityGroupName: "Site readers" }]);
    await store.create(securityGroupMembers, { securityGroupId: readers.id, userId: id }, system);
    expect(told()).toHaveLength(1);
    await store.remove(scimGroupMembers, joined.id, system);
    expect(may()).toBe(true);
    for (const { id: own } of store.find(securityGroupMembers, { userId: id }))
      await store.remove(securityGroupMembers, own, system);
    expect(may()).toBe(false);
    await join();
    expect(may()).toBe(true);
    await store.remove(securityGroupScimGroups, tied.id, system);
    expect(may()).toBe(false);
    await tie(adminsId);
    expect(fixture.by(token).scope.allows("delete", "/users/x")).toBe(true);
    await store.remove(scimGroups, staff.id, system);
    expect(fixture.by(token).scope.allows("delete", "/users/x")).toBe(false);
  });

  it("rejects invalid specs", async () => {
    const grant = store("users/*");
    await expect(grant).rejects.toMatchObject({ type: "invalid-value", faults: [{ field: "spec" }] });
    function store(spec: string) {
      return fixture.store.create(userPermissions, { userId: fixture.adminId, verb: "get", spec }, fixture.system);
    }
  });
});

describe("administrators", () => {
  it("cannot all be removed", async () => {
    const { store, system, adminsId, adminId } = fixture;
    const [member] = store.find(securityGroupMembers, { userId: adminId });
    const conflict = expect.objectContaining({ type: "conflict" });
    await expect(store.remove(securityGroups, adminsId, system)).rejects.toEqual(conflict);
    await expect(store.update(securityGroups, adminsId, { superGroup: false }, system)).rejects.toEqual(conflict);
    await expect(store.remove(securityGroupMembers, member?.id as string, system)).rejects.toEqual(conflict);
    await expect(store.remove(users, adminId, system)).rejects.toEqual(conflict);
    expect(store.find(securityGroupMembers, { userId: adminId })).toHaveLength(1);
  });

  it("cannot lock out the last one who can log in", async () => {
    const { store, system, adminsId, adminId, clock } = fixture;
    const conflict = expect.objectContaining({ type: "conflict" });
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    const change = (id: string, input: object) => store.update(users, id, input, system);
    await expect(change(adminId, { lock: { start: at(0) } })).rejects.toEqual(conflict);
    await expect(change(adminId, { lock: { start: at(60_000), end: at(120_000) } })).rejects.toEqual(conflict);
    await expect(change(adminId, { type: "anonymous", email: null })).rejects.toEqual(conflict);
    await change(adminId, { lock: { start: at(-2), end: at(-1) }, passwordResetRequired: true });
    await change(adminId, { lock: null });
    const { id } = await fixture.user("Quinn");
    await store.create(securityGroupMembers, { securityGroupId: adminsId, userId: id }, system);
    await expect(change(adminId, { lock: { start: at(0) } })).rejects.toEqual(conflict);
    await change(id, { email: "quinn@example.org" });
    await change(adminId, { lock: { start: at(0) } });
    await expect(change(id, { lock: { start: at(0) } })).rejects.toEqual(conflict);
    await change((await fixture.user("Rae")).id, { lock: { start: at(0) } });
    expect(store.get(users, adminId)?.lock?.start).toBe(clock.now());
  });

  it("can be replaced", async () => {
    const { store, system, adminsId } = fixture;
    const { id } = await fixture.user("Quinn");
    const { id: memberId } = await store.create(
      securityGroupMembers,
      { securityGroupId: adminsId, userId: id },
      system,
    );
    await store.remove(securityGroupMembers, memberId, system);
    const second = await store.create(securityGroups, { name: "Second", superGroup: true }, system);
    await store.remove(securityGroups, second.id, system);
    expect(store.count(securityGroups, { superGroup: true })).toBe(1);
  });
});

describe("a required second factor", () => {
  it("is that of the members of a group that requires it, as long as both last", async () => {
    const { access, store, system } = fixture;
    const { id } = await fixture.user("Member");
    const isRequired = (): boolean => access.requiresSecondFactor(store.get(users, id)?.pk ?? 0);
    expect(isRequired()).toBe(false);
    const group = await store.create(securityGroups, { name: "Senders", secondFactorRequired: true }, system);
    expect(isRequired()).toBe(false);
    await store.create(securityGroupMembers, { securityGroupId: group.id, userId: id }, system);
    expect(isRequired()).toBe(true);
    await store.update(securityGroups, group.id, { secondFactorRequired: false }, system);
    expect(isRequired()).toBe(false);
  });
});

describe("users", () => {
  it("can be locked only by callers with at least their rights", async () => {
    const editor = await fixture.user("Editor", "put /users/*");
    const colleague = await fixture.user("Colleague", "put /users/*");
    const lock = { start: "2026-01-12T09:00:00.000Z" };
    const by = fixture.by(editor.token);
    await expect(fixture.store.update(users, fixture.adminId, { lock }, by)).rejects.toThrow("Permission denied.");
    const email = "editor@example.org";
    await expect(fixture.store.update(users, fixture.adminId, { email }, by)).rejects.toThrow("Permission denied.");
    await fixture.store.update(users, fixture.adminId, { name: "The admin" }, by);
    const locked = await fixture.store.update(users, colleague.id, { lock }, by);
    expect(locked.lock?.start).toBe(Date.parse(lock.start));
  });

  it("validate lock and email by type", async () => {
    const create = (input: object) => fixture.store.create(users, { name: "R", ...input }, fixture.system);
    const at = "2026-01-01T00:00:00.000Z";
    await expect(create({ lock: { start: at, end: at } })).rejects.toMatchObject({ faults: [{ field: "lock" }] });
    await expect(create({ type: "application", email: "a@example.org" })).rejects.toMatchObject({
      faults: [{ field: "email" }],
    });
    await expect(create({ type: "application" })).resolves.toMatchObject({ email: null });
  });
});

describe("passwords", () => {
  it("are hashed with argon2id in PHC form with a random salt", async () => {
    const [one, two] = await Promise.all([hashPassword("correct horse"), hashPassword("correct horse")]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(one).not.toBe(two);
  });
});
