import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { signLink } from "../../src/auth/signed-links.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { AccountMessage } from "../../src/plugin-api/index.ts";
import userTokens from "../../src/resources/people/user-tokens.ts";
import users from "../../src/resources/people/users.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import identityProviders from "../../src/resources/security/identity-providers.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { makePerson, PASSWORD } from "./oauth-fixture.ts";

const NEXT = "staple battery horse";
const MINUTE = 60_000;

let api: ApiFixture;
let serial = 0;
let email: string;
let id: string;
/** What has passed, ms. */
let passed = 0;
let hasServer = true;
let refusal: string | null = null;
const mails: AccountMessage[] = [];
const clock: Clock = { ...systemClock, now: () => systemClock.now() + passed, monotonicMs: () => passed };

beforeAll(async () => {
  const mailSender = {
    isAvailable: () => hasServer,
    send: async (mail: AccountMessage) => {
      mails.push(mail);
      return refusal;
    },
  };
  api = await openApi(makeTempDir(), { clock, mailSender });
});
beforeEach(async () => {
  serial += 1;
  [hasServer, refusal] = [true, null];
  // Earlier requests of the network are forgotten.
  passed += 24 * 60 * MINUTE;
  mails.length = 0;
  email = `person${serial}@example.org`;
  id = await makePerson(api, email);
});
afterAll(() => api.close());

const open = (path: string, json: object): Promise<ReceivedResponse> => api.call("POST", path, { token: null, json });
const ask = (address: string = email) => open("/api/login/forgotten-password", { email: address });
const reset = (token: string, password = NEXT) => open("/api/login/password", { token, password });
const logIn = (password: string) => open("/api/login", { email, password });
const mailTo = (address: string) => expect.poll(() => mails.find(({ to }) => to === address)).toBeTruthy();
const opsOf = (rowId: string) => api.store.find(auditEntries, { rowId }).map(({ op }) => op);

async function linkFor(address: string = email): Promise<string> {
  const before = mails.length;
  expect((await ask(address)).status).toBe(204);
  await expect.poll(() => mails.length).toBe(before + 1);
  return /\/reset-password#([0-9a-f]+)/.exec(mails.at(-1)?.text ?? "")?.[1] ?? "";
}

describe("a forgotten password", () => {
  it("is replaced by a mailed link, which ends sessions and tells the user", async () => {
    await logIn(PASSWORD);
    const token = await linkFor();
    expect(mails[0]).toMatchObject({ to: email, subject: "Set a new password", language: "en" });
    expect(api.logText()).not.toContain(token);
    expect((await reset(token)).status).toBe(204);
    expect([(await logIn(PASSWORD)).status, (await logIn(NEXT)).status]).toEqual([401, 204]);
    expect(api.store.count(userTokens, { userId: id, kind: "session" })).toBe(1);
    expect(mails.map(({ subject }) => subject)).toEqual(["Set a new password", "Your password was changed"]);
    expect(opsOf(id)).toEqual(expect.arrayContaining(["password-reset-requested", "password-reset"]));
  });

  it("is asked for in the user's language", async () => {
    await api.store.update(users, id, { preferredLanguage: "de-DE" }, api.system);
    await linkFor();
    expect(mails[0]).toMatchObject({ language: "de", subject: "Neues Passwort festlegen" });
    expect(mails[0]?.text).toContain("innerhalb von 30 Minuten");
  });

  it("also replaces one that had to be changed at the next log-in", async () => {
    await api.store.update(users, id, { passwordResetRequired: true }, api.system);
    expect((await reset(await linkFor())).status).toBe(204);
    expect((await logIn(NEXT)).status).toBe(204);
  });

  it("answers the same for an address without an account, and mails nothing", async () => {
    const known = await ask();
    const unknown = await ask("stranger@example.org");
    expect([known.status, known.text]).toEqual([unknown.status, unknown.text]);
    await mailTo(email);
    expect(mails.map(({ to }) => to)).toEqual([email]);
  });

  it("of an account of another provider is that provider's; the mail says so", async () => {
    const row = { name: "Northgate", type: "oidc", issuer: "https://login.example.org", clientId: "carillon" } as const;
    const provider = await api.store.create(identityProviders, row, api.system);
    await api.store.update(users, id, {}, api.system, { providerKey: `${provider.id} x` });
    await ask();
    await mailTo(email);
    expect(mails[0]?.text).toContain("kept by Northgate");
    expect(mails[0]?.text).not.toContain("#");
  });

  it.each([
    ["a locked account", { lock: { start: null, end: null } }, {}],
    ["an account without a password", {}, { passwordHash: null }],
  ])("of %s is not mailed", async (_what, fields, system) => {
    await api.store.update(users, id, fields, api.system, system);
    await ask();
    const other = `other${serial}@example.org`;
    await makePerson(api, other);
    await ask(other);
    await mailTo(other);
    expect(mails.map(({ to }) => to)).toEqual([other]);
  });

  it("cannot be asked for without a mail server; the log-in page does not offer it", async () => {
    const offered = async () => (await api.call("GET", "/api/setup", { token: null })).body.mailsPasswordLinks;
    expect(await offered()).toBe(true);
    hasServer = false;
    expect(await offered()).toBe(false);
    const answer = await ask();
    expect([answer.status, answer.body.message]).toEqual([
      409,
      "No mail server is set up here. Ask your administrator for a new password.",
    ]);
  });

  it("that no server takes is logged with the reason", async () => {
    refusal = "mail server mx.example.org: timed out";
    await linkFor();
    await expect.poll(api.logText).toContain("mail server mx.example.org: timed out");
  });
});

describe("a link for a new password", () => {
  it("is good once", async () => {
    const token = await linkFor();
    expect((await reset(token)).status).toBe(204);
    const again = await reset(token, "another battery horse");
    expect([again.status, again.body.message]).toEqual([401, "The link has expired or was used. Ask for a new one."]);
    expect((await logIn(NEXT)).status).toBe(204);
  });

  it("is good once even if it is used twice at the same time", async () => {
    const token = await linkFor();
    const both = await Promise.all([reset(token), reset(token, "another battery horse")]);
    expect(both.map(({ status }) => status).sort()).toEqual([204, 401]);
  });

  it("is worthless after half an hour", async () => {
    const token = await linkFor();
    passed += 30 * MINUTE;
    expect((await reset(token)).status).toBe(401);
  });

  it("is worthless once the password was changed in another way", async () => {
    const token = await linkFor();
    await api.store.update(users, id, {}, api.system, { passwordChangedAt: clock.now() });
    expect((await reset(token)).status).toBe(401);
  });

  it("is worthless for an account that was locked meanwhile", async () => {
    const token = await linkFor();
    await api.store.update(users, id, { lock: { start: null, end: null } }, api.system);
    expect((await reset(token)).status).toBe(401);
  });

  it.each([
    ["nothing", ""],
    ["no token", "0a1b"],
    ["a token for another purpose", "answer"],
    ["a forged one", "forged"],
  ])("is refused: %s", async (_what, kind) => {
    const expires = clock.now() + MINUTE;
    const signed = { answer: signLink("answer", `${id}  ${expires}`, api.store), forged: "00".repeat(100) };
    const answer = await reset(signed[kind as keyof typeof signed] ?? kind);
    expect(answer.status).toBe(kind === "" ? 400 : 401);
    expect((await logIn(PASSWORD)).status).toBe(204);
  });

  it("stays good after a password that is too weak", async () => {
    const token = await linkFor();
    const weak = await reset(token, "password1234");
    expect([weak.status, weak.body.errors]).toMatchObject([400, [{ field: "password" }]]);
    expect((await reset(token)).status).toBe(204);
  });

  it("gives no session by itself: log-in follows, with the second factor", async () => {
    const answer = await reset(await linkFor());
    expect(answer.headers.get("set-cookie")).toBeNull();
  });

  it("cannot be guessed: further attempts of the address wait", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 30; at++) statuses.push((await reset("ab".repeat(60))).status);
    expect(statuses).toContain(429);
  });
});

describe("mails for new passwords", () => {
  it("go to one account three times, then not before 20 minutes are over", async () => {
    for (let at = 0; at < 3; at++) await linkFor();
    await ask();
    passed += 20 * MINUTE;
    await linkFor();
    expect(mails).toHaveLength(4);
  });

  it("are refused to a network that asks for many; another one goes on", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 22; at++) statuses.push((await ask(`nobody${at}@example.org`)).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 204));
    expect(statuses.slice(20)).toEqual([429, 429]);
  });
});

describe("a user", () => {
  it("is mailed when the password is changed by somebody else", async () => {
    expect((await api.call("PUT", `/users/${id}/password`, { json: { password: NEXT } })).status).toBe(204);
    await mailTo(email);
    expect(mails[0]).toMatchObject({ to: email, subject: "Your password was changed" });
  });
});

describe("an administrator", () => {
  const send = (userId: string) => api.call("POST", `/users/${userId}/password-link`, { json: {} });
  const tokenIn = (mail: AccountMessage | undefined) => /#([0-9a-f]+)/.exec(mail?.text ?? "")?.[1] ?? "";

  const removeServer = () => {
    hasServer = false;
  };
  const refuseMails = () => {
    refusal = "mx: timed out";
  };

  it("has a link mailed, also for a first password", async () => {
    await api.store.update(users, id, {}, api.system, { passwordHash: null });
    expect((await send(id)).status).toBe(204);
    expect(mails[0]).toMatchObject({ to: email, subject: "Set your password" });
    passed += 23 * 60 * MINUTE;
    expect((await reset(tokenIn(mails[0]))).status).toBe(204);
    expect((await logIn(NEXT)).status).toBe(204);
    expect(opsOf(id)).toContain("password-reset-requested");
  });

  it("has none mailed that is good for more than a day", async () => {
    await send(id);
    passed += 24 * 60 * MINUTE;
    expect((await reset(tokenIn(mails[0]))).status).toBe(401);
  });

  it.each([
    ["without a mail server", removeServer, 409, "No mail server is set up here."],
    [
      "to a locked account",
      () => api.store.update(users, id, { lock: { start: null, end: null } }, api.system),
      ...([409, "The account is locked."] as const),
    ],
    ["when no server takes it", refuseMails, 502, "mx: timed out"],
  ])("has none mailed %s", async (_what, change, status, message) => {
    await change();
    const answer = await send(id);
    expect([answer.status, answer.body.message]).toEqual([status, message]);
  });

  it("has none mailed for people who do not log in", async () => {
    const { id: guest } = await api.store.create(users, { name: "Guest", type: "anonymous" }, api.system);
    expect((await send(guest)).body.message).toBe("This account cannot log in with a password that is kept here.");
  });

  it("needs the permission", async () => {
    const { token } = await api.user("Reader", "get /users/*");
    const answer = await api.call("POST", `/users/${id}/password-link`, { token, json: {} });
    expect([answer.status, mails.length]).toEqual([403, 0]);
  });
});
