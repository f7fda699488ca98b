import { afterAll, beforeAll, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import scimGroups from "../../src/resources/security/scim-groups.ts";
import { externalProgram } from "../support/external-programs.ts";
import { AD_BASE, type DomainEntry, type SambaDomain, startSambaDomain } from "../support/samba-domain.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";

const { describe } = externalProgram("samba");

/** More than a page of the directory, and than it lists as members of one group without ranges. */
const PUPILS = 1_600;

function person(name: string, more: Partial<DomainEntry> = {}): DomainEntry {
  const dn = `CN=${name},OU=people`;
  return {
    dn,
    objectClass: "user",
    sAMAccountName: name,
    userAccountControl: "512",
    password: passwordOf(name),
    ...more,
  };
}

function group(name: string, member: readonly string[], more: Partial<DomainEntry> = {}): DomainEntry {
  return { dn: `CN=${name},OU=groups`, objectClass: "group", sAMAccountName: name, member, ...more };
}

/** The domain takes no password with the name in it. */
const passwordOf = (name: string): string => `Secret ${Buffer.from(name).toString("hex")} 1`;
const dnOf = (name: string): string => `CN=${name},OU=people,${AD_BASE}`;
const pupil = (n: number): string => `pupil${n}`;
/** Without a password most entries cost next to nothing. */
const pupils = Array.from({ length: PUPILS }, (_none, n) =>
  person(pupil(n), n === PUPILS - 1 ? {} : { password: undefined, userAccountControl: "544" }),
);

const ENTRIES: readonly DomainEntry[] = [
  { dn: "OU=people", objectClass: "organizationalUnit" },
  { dn: "OU=groups", objectClass: "organizationalUnit" },
  person("ann", { mail: "ann@example.org", userPrincipalName: "ann.upn@school.test", displayName: "Ann Ash" }),
  person("bob", { mail: "bob@example.org" }),
  person("cat", { mail: "cat@example.org" }),
  person("dan", { mail: "dan@example.org" }),
  person("eve"),
  { dn: "CN=pc7,CN=Computers", objectClass: "computer", sAMAccountName: "pc7$", userAccountControl: "4096" },
  ...pupils,
  group("Maths", ["CN=ann,OU=people"]),
  group("Teachers", ["CN=Maths,OU=groups", "CN=bob,OU=people"]),
  group("Staff", ["CN=Teachers,OU=groups"]),
  group("Kitchen", []),
  group(
    "Pupils",
    pupils.map(({ dn }) => dn),
  ),
];

describe("log-in by Active Directory", () => {
  let api: ApiFixture;
  let domain: SambaDomain;
  let at: string;
  beforeAll(async () => {
    domain = await startSambaDomain(ENTRIES);
    api = await openApi(makeTempDir(), { clock: FROZEN_CLOCK, allowedTargets: ["127.0.0.0/8"] });
    const { secureUrl: url, authority: caCertificates, bindDn, bindPassword } = domain;
    // The whole domain: the directory adds references to its other parts.
    const bases = { userBase: AD_BASE, groupBase: `OU=groups,${AD_BASE}` };
    const json = { name: "School", type: "ldap", url, caCertificates, bindDn, bindPassword, ...bases };
    const made = await api.call("POST", "/identity-providers", { json: { ...json, selfRegistrationEnabled: true } });
    expect([made.status, made.text]).toEqual([200, expect.any(String)]);
    at = `/identity-providers/${made.body.id}`;
  });
  afterAll(async () => {
    await api?.close();
    await domain?.stop();
  });

  const enter = (email: string, password: string) =>
    api.call("POST", "/api/login", { token: null, json: { email, password } });
  const cookieOf = ({ headers }: { headers: Headers }) => (headers.get("set-cookie") ?? "").split(";")[0] as string;
  const sessionOf = (cookie: string) => api.call("GET", "/session", { token: null, headers: { cookie } });
  const groupsOf = (name: string): string[] => {
    const sql = `SELECT g.name FROM scim_groups g JOIN scim_group_members m ON m.scim_group_pk = g.pk
      JOIN users u ON u.pk = m.user_pk WHERE u.name = ? ORDER BY g.name`;
    return api.store.all<{ name: string }>(sql, name).map((line) => line.name);
  };
  const sync = async () => (await api.call("POST", `${at}/sync`)).body;
  const modify = (name: string, attribute: string, value: string) =>
    domain.change(`dn: ${dnOf(name)}\nchangetype: modify\nreplace: ${attribute}\n${attribute}: ${value}\n`);

  it("tests the connection with more people than a page holds, and counts no computers", async () => {
    const { ok, checks } = (await api.call("POST", `${at}/connection-test`)).body;
    expect([ok, checks.map(({ code, value }: { code: string; value: string }) => [code, value])]).toEqual([
      true,
      [
        ["called-tls", domain.secureUrl],
        ["may-search", domain.bindDn],
        ["people", "≥ 1000"],
        ["groups", "4"],
      ],
    ]);
  });

  it.each([
    ["ann", "ann"],
    ["ANN", "ann"],
    ["SCHOOL\\ann", "ann"],
    ["ann@example.org", "ann"],
    ["ann.upn@school.test", "ann"],
    ["Ann.UPN@School.test", "ann"],
    // Each account has this one, though the directory does not store it.
    ["ann@school.test", "ann"],
    ["eve@school.test", "eve"],
    ["eve@SCHOOL.TEST", "eve"],
  ])("lets %s in", async (login, name) => {
    const entered = await enter(login, passwordOf(name));
    expect(entered.status).toBe(204);
    expect((await sessionOf(cookieOf(entered))).body).toMatchObject({ name, providerName: "School" });
  });

  it.each([
    ["ann", "wrong"],
    ["ann", passwordOf("bob")],
    ["eve@example.org", passwordOf("eve")],
    ["eve@other.school.test", passwordOf("eve")],
    ["pc7$", "pc7"],
    ["SCHOOL\\", passwordOf("ann")],
    ["*@school.test", passwordOf("ann")],
  ])("does not let %s in with the password %s", async (login, password) => {
    expect((await enter(login, password)).status).toBe(401);
  });

  it("reads groups in groups, the primary group, and one with more members than are listed at once", async () => {
    expect(groupsOf("ann")).toEqual(["Maths", "Staff", "Teachers"]);
    const last = pupil(PUPILS - 1);
    expect((await enter(last, passwordOf(last))).status).toBe(204);
    expect(groupsOf(last)).toEqual(["Pupils"]);
    // A member of the primary group is not in its list.
    const rid = domain.read(`CN=Teachers,OU=groups,${AD_BASE}`, "objectSid");
    const id = Buffer.from(rid, "base64").readUInt32LE(24);
    expect((await enter("bob", passwordOf("bob"))).status).toBe(204);
    expect(groupsOf("bob")).toEqual(["Staff", "Teachers"]);
    modify("bob", "primaryGroupID", String(id));
    expect(domain.read(`CN=Teachers,OU=groups,${AD_BASE}`, "member")).not.toContain("bob");
    expect(await sync()).toMatchObject({ lastSyncOutcome: "in-line" });
    expect(groupsOf("bob")).toEqual(["Staff", "Teachers"]);
  });

  it("keeps the rights of a group that is renamed or moved there", async () => {
    const [teachers] = api.store.find(scimGroups, { name: "Teachers" });
    const { body } = await api.call("POST", "/security-groups", { json: { name: "Senders" } });
    await api.call("POST", `/security-groups/${body.id}/permissions`, { json: { verb: "get", spec: "/users/*" } });
    await api.call("POST", `/security-groups/${body.id}/scim-groups`, { json: { scimGroupId: teachers?.id } });
    const cookie = cookieOf(await enter("ann", passwordOf("ann")));
    const read = async () =>
      (await api.call("GET", `/users/${api.adminId}`, { token: null, headers: { cookie } })).status;
    expect(await read()).toBe(200);
    const move = `newrdn: CN=Faculty\ndeleteoldrdn: 1\nnewsuperior: OU=groups,${AD_BASE}\n`;
    domain.change(`dn: CN=Teachers,OU=groups,${AD_BASE}\nchangetype: modrdn\n${move}`);
    expect(await sync()).toMatchObject({ lastSyncOutcome: "in-line", lastSyncGone: 0 });
    expect([await read(), groupsOf("ann")]).toEqual([200, ["Faculty", "Maths", "Staff"]]);
    expect(api.store.get(scimGroups, teachers?.id as string)?.name).toBe("Faculty");
  });

  it.each([
    ["disabled", "cat", () => modify("cat", "userAccountControl", "514")],
    // At the end of 2020.
    ["expired", "dan", () => modify("dan", "accountExpires", "132539328000000000")],
    ["moved out of the directory", "eve", () => domain.change(`dn: ${dnOf("eve")}\nchangetype: delete\n`)],
  ])("ends the session of who is %s at the next sync", async (_what, name, close) => {
    const cookie = cookieOf(await enter(name, passwordOf(name)));
    expect((await sessionOf(cookie)).status).toBe(200);
    close();
    expect((await enter(name, passwordOf(name))).status).toBe(401);
    expect(await sync()).toMatchObject({ lastSyncOutcome: "in-line", lastSyncGone: 1 });
    expect((await sessionOf(cookie)).status).toBe(401);
  });

  it("refuses a locked account and one whose password must be changed, and leaves their sessions", async () => {
    const cookie = cookieOf(await enter("bob", passwordOf("bob")));
    domain.change(`dn: ${AD_BASE}\nchangetype: modify\nreplace: lockoutThreshold\nlockoutThreshold: 2\n`);
    for (let n = 0; n < 2; n++) expect((await enter("bob", "guessed")).status).toBe(401);
    expect(Number(domain.read(dnOf("bob"), "lockoutTime"))).toBeGreaterThan(0);
    expect((await enter("bob", passwordOf("bob"))).status).toBe(401);
    modify("ann", "pwdLastSet", "0");
    expect((await enter("ann", passwordOf("ann"))).status).toBe(401);
    // Anybody could lock somebody out by guessing; it ends by itself.
    expect(await sync()).toMatchObject({ lastSyncOutcome: "in-line", lastSyncGone: 0 });
    expect((await sessionOf(cookie)).status).toBe(200);
  });

  it("keeps all who were not asked about while the controller is down", async () => {
    await domain.stop();
    expect((await api.call("POST", `${at}/sync`)).status).toBe(502);
    expect((await api.call("GET", at)).body.lastSyncOutcome).toBe("failed");
    expect((await enter("ann", passwordOf("ann"))).status).toBe(502);
    const { ok, checks } = (await api.call("POST", `${at}/connection-test`)).body;
    expect([ok, checks[0]]).toMatchObject([false, { ok: false }]);
    expect(api.store.find(users, { name: "ann" })).toHaveLength(1);
    expect(groupsOf("ann")).toEqual(["Faculty", "Maths", "Staff"]);
  });
});
