import { afterAll, beforeAll, expect } from "vitest";
import { buildProviderKey } from "../../src/auth/identity-providers.ts";
import { createToken } from "../../src/auth/tokens.ts";
import { translateSentence } from "../../src/lib/sentences/sentences.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import applications from "../../src/resources/security/applications.ts";
import scimGroups from "../../src/resources/security/scim-groups.ts";
import { createDirectoryHealthCheck } from "../../src/sso/directory-health.ts";
import type { Sync } from "../../src/store/store.ts";
import { LDAP_BASE, type LdapPeer, memberLine, startLdapPeer } from "../support/directory-peer.ts";
import { externalProgram } from "../support/external-programs.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";

const { describe, it } = externalProgram("slapd");

describe("log-in by a directory", () => {
  let api: ApiFixture;
  let directory: LdapPeer;
  let at: string;
  let byTheClock: () => void;
  beforeAll(async () => {
    directory = await startLdapPeer(
      { ann: "Ann", bob: "Bob", "o*(x)": "Odd" },
      { senders: ["ann"], all: ["ann", "bob"] },
    );
    api = await openApi(makeTempDir(), {
      clock: FROZEN_CLOCK,
      allowedTargets: ["127.0.0.0/8"],
      schedule: (_expression, work) => {
        byTheClock = work;
        return () => undefined;
      },
    });
    const { secureUrl: url, authority: caCertificates, bindDn, bindPassword } = directory;
    const bases = { userBase: `ou=people,${LDAP_BASE}`, groupBase: `ou=groups,${LDAP_BASE}` };
    const made = await api.call("POST", "/identity-providers", {
      json: {
        name: "House",
        type: "ldap",
        url,
        caCertificates,
        bindDn,
        bindPassword,
        ...bases,
        selfRegistrationEnabled: true,
      },
    });
    expect(made.status).toBe(200);
    at = `/identity-providers/${made.body.id}`;
  });
  afterAll(async () => {
    await api?.close();
    await directory?.stop();
  });

  const change = async (json: object): Promise<void> => {
    expect((await api.call("PUT", at, { json })).status).toBe(200);
  };
  const enter = (email: string, password: string) =>
    api.call("POST", "/api/login", { token: null, json: { email, password } });
  const cookieOf = ({ headers }: { headers: Headers }) => (headers.get("set-cookie") ?? "").split(";")[0] as string;
  const read = async (cookie: string): Promise<number> =>
    (await api.call("GET", `/users/${api.adminId}`, { token: null, headers: { cookie } })).status;

  it("accepts the names and passwords of the directory only", async () => {
    const ann = await enter("ann", "pass-ann");
    expect(ann.status).toBe(204);
    const session = await api.call("GET", "/session", { token: null, headers: { cookie: cookieOf(ann) } });
    expect(session.body).toMatchObject({ email: "ann@example.org", name: "Ann", providerName: "House" });
    expect((await enter("bob@example.org", "pass-bob")).status).toBe(204);
    for (const [login, password] of [
      ["ann", "pass-bob"],
      ["ann@example.org", ""],
      ["nobody", "pass-ann"],
    ] as const) {
      expect((await enter(login, password)).status, login).not.toBe(204);
    }
    const [row] = api.store.find(users, { email: "ann@example.org" });
    expect(row).toMatchObject({ source: "self-registered", passwordHash: null });
    expect((await api.call("GET", "/api/setup", { token: null })).body.takesLoginNames).toBe(true);
  });

  it("escapes special characters of the name", async () => {
    for (const login of ["*", "a*", "ann)(uid=*", "*)(objectClass=*", "\\2a"]) {
      expect((await enter(login, "pass-ann")).status, login).toBe(401);
    }
    expect((await enter("o*(x)", "pass-o*(x)")).status).toBe(204);
  });

  it("gives the rights of groups, and takes them when the directory is asked on demand or by the clock", async () => {
    const [group] = api.store.find(scimGroups, { name: "senders" });
    expect(group?.externalId).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
    const groupDn = `cn=senders,ou=groups,${LDAP_BASE}`;
    const { body } = await api.call("POST", "/security-groups", { json: { name: "Senders" } });
    await api.call("POST", `/security-groups/${body.id}/permissions`, { json: { verb: "get", spec: "/users/*" } });
    await api.call("POST", `/security-groups/${body.id}/scim-groups`, { json: { scimGroupId: group?.id } });
    const [ann, bob] = [cookieOf(await enter("ann", "pass-ann")), cookieOf(await enter("bob", "pass-bob"))];
    expect([await read(ann), await read(bob)]).toEqual([200, 404]);
    const swap = `changetype: modify\nadd: member\n${memberLine("bob")}\n-\ndelete: member\n${memberLine("ann")}\n`;
    directory.change(`dn: ${groupDn}\n${swap}`);
    expect([await read(ann), await read(bob)]).toEqual([200, 404]);
    const synced = await api.call("POST", `${at}/sync`);
    expect(synced.body.lastSyncResult).toBe("Users in sync: 3. No longer in the directory: 0.");
    expect([await read(ann), await read(bob)]).toEqual([404, 200]);
    const [row] = api.store.find(users, { email: "bob@example.org" });
    const { body: made } = await api.call("POST", `/users/${row?.id}/tokens`, { json: { name: "For ever" } });
    const byToken = async () => (await api.call("GET", "/session", { token: made.token })).status;
    expect(await byToken()).toBe(200);
    directory.change(`dn: uid=bob,ou=people,${LDAP_BASE}\nchangetype: delete\n`);
    byTheClock();
    await expect.poll(() => read(bob)).toBe(401);
    await expect.poll(byToken).toBe(401);
    expect((await enter("bob", "pass-bob")).status).toBe(401);
  });

  it("knows a group that was renamed there, and one that an earlier version stored with its DN", async () => {
    const senders = () => api.store.find(scimGroups, {}).find(({ name }) => /^(senders|callers)$/.test(name));
    const former = senders();
    const dn = (name: string) => `cn=${name},ou=groups,${LDAP_BASE}`;
    await api.store.update(scimGroups, former?.id as string, { externalId: dn("senders").toUpperCase() }, api.system);
    directory.change(`dn: ${dn("senders")}\nchangetype: modify\nadd: member\n${memberLine("ann")}\n`);
    const ann = cookieOf(await enter("ann", "pass-ann"));
    expect(await read(ann)).toBe(200);
    expect(senders()).toMatchObject({ id: former?.id, externalId: former?.externalId });
    directory.change(`dn: ${dn("senders")}\nchangetype: modrdn\nnewrdn: cn=callers\ndeleteoldrdn: 1\n`);
    const synced = await api.call("POST", `${at}/sync`);
    expect(synced.body).toMatchObject({ lastSyncOutcome: "in-line" });
    expect(await read(ann)).toBe(200);
    expect(senders()).toMatchObject({ id: former?.id, name: "callers" });
    directory.change(`dn: ${dn("callers")}\nchangetype: modrdn\nnewrdn: cn=senders\ndeleteoldrdn: 1\n`);
    expect((await enter("ann", "pass-ann")).status).toBe(204);
    expect(senders()).toMatchObject({ id: former?.id, name: "senders" });
  });

  it("takes out who is switched off there", async () => {
    const ann = cookieOf(await enter("ann", "pass-ann"));
    const dn = `dn: uid=ann,ou=people,${LDAP_BASE}\nchangetype: modify\n`;
    directory.change(
      `${dn}add: objectClass\nobjectClass: switchable\n-\nadd: userAccountControl\nuserAccountControl: 514\n`,
    );
    expect((await enter("ann", "pass-ann")).status).toBe(401);
    const session = async () => (await api.call("GET", "/session", { token: null, headers: { cookie: ann } })).status;
    expect(await session()).toBe(200);
    expect((await api.call("POST", `${at}/sync`)).body).toMatchObject({ lastSyncOutcome: "in-line", lastSyncGone: 1 });
    expect(await session()).toBe(401);
    directory.change(`${dn}replace: userAccountControl\nuserAccountControl: 512\n`);
    expect((await enter("ann", "pass-ann")).status).toBe(204);
    // At the end of 2020.
    directory.change(`${dn}add: accountExpires\naccountExpires: 132539328000000000\n`);
    expect((await enter("ann", "pass-ann")).status).toBe(401);
    directory.change(`${dn}replace: accountExpires\naccountExpires: 9223372036854775807\n`);
    expect((await enter("SCHOOL\\ann", "pass-ann")).status).toBe(204);
  });

  it("holds back a synchronization that would remove many users, until it is confirmed", async () => {
    const id = at.split("/").at(-1) as string;
    const made = await api.store.write(
      (tx) =>
        Array.from({ length: 11 }, (_none, n) =>
          tx.create(users, { name: `Gone ${n}` }, api.system, { providerKey: buildProviderKey(id, `gone-${n}`) }),
        ) as Sync<{ id: string }[]>,
    );
    for (const user of made) await createToken(api.store, user.id, { name: "Clock" }, api.system);
    const [first] = made;
    const application = await api.store.create(applications, { name: "Robot", userId: first?.id }, api.system);
    const kept = () => made.filter((user) => api.store.find(userTokens, { userId: user.id }).length > 0).length;
    const faults = createDirectoryHealthCheck(api.store);
    const held = await api.call("POST", `${at}/sync`);
    expect(held.body).toMatchObject({ lastSyncOutcome: "held-back", lastSyncGone: 11 });
    expect([kept(), faults().map(({ reason }) => reason)]).toEqual([
      11,
      [expect.stringContaining("House no longer names 11")],
    ]);
    const anyway = await api.call("POST", `${at}/sync`, { json: { anyway: true } });
    expect(anyway.body).toMatchObject({ lastSyncOutcome: "in-line", lastSyncGone: 11 });
    expect([kept(), faults()]).toEqual([0, []]);
    expect(api.store.get(applications, application.id)?.userId).toBeNull();
    // Who went before is not counted again.
    expect((await api.call("POST", `${at}/sync`)).body).toMatchObject({ lastSyncOutcome: "in-line", lastSyncGone: 0 });
  });

  it("says in words what works", async () => {
    const test = async () => (await api.call("POST", `${at}/connection-test`)).body;
    const { secureUrl: url, bindDn: name } = directory;
    const sentenceOf = (code: string, params = {}) => ({ code: `provider-test.${code}`, params });
    expect(await test()).toEqual({
      ok: true,
      checks: [
        {
          ...{ what: "address", ok: true, code: "called-tls", value: url, words: `Connected to ${url} with TLS.` },
          wordsSentence: sentenceOf("address-tls", { url }),
        },
        {
          ...{ what: "bind", ok: true, code: "may-search", value: name, words: `Bound as ${name}.` },
          wordsSentence: sentenceOf("bound", { name }),
        },
        {
          ...{ what: "users", ok: true, code: "people", value: "2", words: "Users who can log in: 2." },
          wordsSentence: sentenceOf("users", { number: "2" }),
        },
        {
          ...{ what: "groups", ok: true, code: "groups", value: "2", words: "Groups found: 2." },
          wordsSentence: sentenceOf("groups", { number: "2" }),
        },
      ],
    });
    await change({ bindPassword: "wrong" });
    const refusedTest = await test();
    expect(refusedTest).toMatchObject({ ok: false, checks: [{ ok: true }, { what: "bind", ok: false }] });
    expect(translateSentence(refusedTest.checks[1].words, "de")).toMatch(
      /antwortet mit einem Fehler: Bind-DN oder Passwort ist falsch \(InvalidCredentialsError:/,
    );
    await change({ bindPassword: directory.bindPassword, caCertificates: null });
    const untrusted = (await test()).checks.at(-1).words;
    expect(untrusted).toMatch(/self.signed/);
    expect(translateSentence(untrusted, "de")).toContain("ist nicht erreichbar: Das Zertifikat ist selbst signiert");
    // A kept password is not sent to another server.
    const elsewhere = { url: directory.url, startTls: true, caCertificates: directory.authority };
    const refused = await api.call("PUT", at, { json: elsewhere });
    expect([refused.status, refused.body.errors[0]]).toMatchObject([400, { field: "bindPassword", type: "required" }]);
    await change({ ...elsewhere, bindPassword: directory.bindPassword });
    expect(await test()).toMatchObject({
      ok: true,
      checks: [{ words: expect.stringContaining("STARTTLS") }, {}, {}, {}],
    });
    expect((await enter("ann", "pass-ann")).status).toBe(204);
  });

  it("lets the users of one directory in while another one is down", async () => {
    const json = { name: "Annexe", type: "ldap", url: "ldap://127.0.0.1:1", userBase: LDAP_BASE };
    const { body: dead } = await api.call("POST", "/identity-providers", { json });
    expect((await enter("ann", "pass-ann")).status).toBe(204);
    // Whether the other one knows this password cannot be told.
    for (let at = 0; at < 4; at++) expect((await enter("ann", "guessed")).status).toBe(502);
    expect((await enter("ann", "pass-ann")).status).toBe(204);
    expect((await api.call("DELETE", `/identity-providers/${dead.id}`)).status).toBe(200);
  });

  it("makes who guesses wait, however the person is named", async () => {
    const statuses: number[] = [];
    for (const login of [
      "o*(x)",
      "O*(X)",
      "o*(x)@example.org",
      "o*(x)",
      "O*(x)@example.org",
      "o*(x)",
      "o*(x)@Example.org",
    ])
      statuses.push((await enter(login, "guessed")).status);
    expect(statuses).toEqual([...Array.from({ length: 6 }, () => 401), 429]);
  });

  it("refuses addresses that are none of a directory", async () => {
    for (const url of ["http://127.0.0.1", "ldap://169.254.1.1", "ldap://a b", "ldap://127.0.0.1/dc=x"]) {
      expect((await api.call("PUT", at, { json: { url } })).body, url).toMatchObject({ errors: [{ field: "url" }] });
    }
    const cron = await api.call("PUT", at, { json: { syncSchedule: "at night" } });
    expect(cron.body.errors[0].field).toBe("syncSchedule");
  });

  it("says that the directory is away to those whom only it knows; own passwords are good all the while", async () => {
    const password = "a horse that is right";
    await api.call("PUT", `/users/${api.adminId}`, { json: { email: "root@example.org" } });
    await api.call("PUT", `/users/${api.adminId}/password`, { json: { password } });
    await directory.stop();
    expect((await enter("root@example.org", password)).status).toBe(204);
    const away = await enter("ann", "pass-ann");
    // Neither the host nor the error of the library is for those who are not logged in.
    expect([away.status, away.body.message]).toEqual([502, "House cannot be reached. Try again later."]);
    expect(away.text).not.toMatch(/127\.0\.0\.1|ECONN|ldap/i);
    expect(api.logText()).toContain("ECONNREFUSED");
    const sync = await api.call("POST", `${at}/sync`);
    expect(sync.status).toBe(502);
    expect((await api.call("GET", at)).body).toMatchObject({
      lastSyncOutcome: "failed",
      lastSyncResult: expect.stringMatching(/^Failed: House/),
    });
    expect(api.logText()).not.toContain("pass-ann");
    expect(api.logText()).not.toContain(directory.bindPassword);
  });
});
