import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLoginService, type LoginOutcome, type LoginService } from "../../../src/auth/login.ts";
import { hashPassword, verifyPassword } from "../../../src/auth/passwords.ts";
import { revokeSession } from "../../../src/auth/sessions.ts";
import { createToken } from "../../../src/auth/tokens.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const PASSWORD = "correct horse battery";
const ANN = { email: "ann@example.org", password: PASSWORD };
const WRONG = { email: "ann@example.org", password: "wrong horse battery" };
const MINUTE = 60_000;

let fixture: AccessFixture;
let signIn: LoginService;
let annId: string;
beforeEach(async () => {
  fixture = await openAccess(makeTempDir());
  signIn = createLoginService(fixture);
  const passwordHash = await hashPassword(PASSWORD);
  annId = (await fixture.store.create(users, { name: "Ann", email: ANN.email }, fixture.system, { passwordHash })).id;
});
afterEach(() => fixture.close());

const sessions = () => fixture.store.find(userTokens, { userId: annId, kind: "session" });
const tokenOf = (login: LoginOutcome | string): string =>
  typeof login === "string" ? login : "session" in login ? login.session : "";
const holder = (login: LoginOutcome | string) => fixture.access.authenticate(tokenOf(login), "cookie");

describe("login", () => {
  it("starts a session that is valid in its cookie only and never returns the token", async () => {
    const token = await signIn.loginWithPassword({ email: " ANN@example.org", password: PASSWORD }, "10.0.0.1");
    expect(holder(token)).toMatchObject({ userId: annId, accessToken: null });
    expect(fixture.access.authenticate(tokenOf(token))).toBeNull();
    const [row] = sessions();
    expect(row?.tokenHash).not.toBe(tokenOf(token));
    expect(row?.expires).toBe(fixture.clock.now() + 12 * 60 * MINUTE);
    const permanent = await fixture.user("Bob");
    expect(holder(permanent.token)).toBeNull();
  });

  it("gives the same error for a wrong password, an unknown address, a locked user and one without a password", async () => {
    await fixture.store.create(users, { name: "Cid", email: "cid@example.org" }, fixture.system);
    const passwordHash = await hashPassword(PASSWORD);
    const lock = { start: null, end: null };
    await fixture.store.create(users, { name: "Dan", email: "dan@example.org", lock }, fixture.system, {
      passwordHash,
    });
    const words = await Promise.all(
      [
        WRONG,
        { email: "nobody@example.org", password: PASSWORD },
        { email: "cid@example.org", password: PASSWORD },
        { email: "dan@example.org", password: PASSWORD },
      ].map((account) =>
        signIn.loginWithPassword(account, null).then(
          () => "let in",
          (error: { type: string; message: string }) => `${error.type}: ${error.message}`,
        ),
      ),
    );
    expect(new Set(words)).toEqual(new Set(["unauthorized: E-mail address or password is not correct."]));
  });

  it("is refused from the start of a lock to its end, and so are sessions", async () => {
    const token = await signIn.loginWithPassword(ANN, null);
    const at = (ms: number) => new Date(fixture.clock.now() + ms).toISOString();
    const lock = { start: at(60_000), end: at(120_000) };
    await fixture.store.update(users, annId, { lock }, fixture.system);
    const tries = async () => {
      const [enter] = await Promise.allSettled([signIn.loginWithPassword(ANN, null)]);
      return [enter?.status, holder(token) !== null];
    };
    fixture.clock.advanceSync(59_999);
    expect(await tries()).toEqual(["fulfilled", true]);
    fixture.clock.advanceSync(1);
    expect(await tries()).toEqual(["rejected", false]);
    fixture.clock.advanceSync(59_999);
    expect(await tries()).toEqual(["rejected", false]);
    fixture.clock.advanceSync(1);
    expect(await tries()).toEqual(["fulfilled", true]);
  });

  it("hashes a password for unknown accounts too", async () => {
    const began = performance.now();
    expect(await verifyPassword(PASSWORD, null)).toBe(false);
    // Without a hash it takes microseconds.
    expect(performance.now() - began).toBeGreaterThan(1);
    expect(await verifyPassword(PASSWORD, await hashPassword(PASSWORD))).toBe(true);
  });

  it("throttles an account with growing delays from any address and resets on success", async () => {
    const guess = (address: string) => signIn.loginWithPassword(WRONG, address);
    for (let at = 0; at < 6; at++) await expect(guess(`10.0.0.${at}`)).rejects.toMatchObject({ type: "unauthorized" });
    await expect(guess("10.0.0.9")).rejects.toMatchObject({ type: "too-many-requests", retryAfterS: 1 });
    fixture.clock.advanceSync(1_000);
    await expect(guess("10.0.0.9")).rejects.toMatchObject({ type: "unauthorized" });
    await expect(signIn.loginWithPassword(ANN, "10.0.0.9")).rejects.toMatchObject({ retryAfterS: 2 });
    fixture.clock.advanceSync(2_000);
    await signIn.loginWithPassword(ANN, "10.0.0.9");
    await expect(guess("10.0.0.9")).rejects.toMatchObject({ type: "unauthorized" });
    await signIn.loginWithPassword(ANN, "10.0.0.9");
  });

  it("throttles an address that tries many accounts, a whole IPv6 /64 together, and not others", async () => {
    const statuses: string[] = [];
    for (let at = 0; at < 22; at++) {
      const account = { email: `user${at}@example.org`, password: PASSWORD };
      await signIn
        .loginWithPassword(account, `2001:db8::${at.toString(16)}`)
        .catch(({ type }: { type: string }) => void statuses.push(type));
    }
    expect(statuses.slice(0, 21)).toEqual(Array.from({ length: 21 }, () => "unauthorized"));
    expect(statuses[21]).toBe("too-many-requests");
    expect(holder(await signIn.loginWithPassword(ANN, "2001:db8:0:1::1"))).not.toBeNull();
  });
});

describe("session", () => {
  it("ends after the idle timeout, which requests extend", async () => {
    const token = await signIn.loginWithPassword(ANN, null);
    fixture.clock.advanceSync(29 * MINUTE);
    expect(holder(token)).not.toBeNull();
    fixture.clock.advanceSync(29 * MINUTE);
    expect(holder(token)).not.toBeNull();
    fixture.clock.advanceSync(30 * MINUTE);
    expect(holder(token)).toBeNull();
  });

  it("uses the user's idle timeout and lasts at most 12 h", async () => {
    await fixture.store.update(users, annId, { idleTimeout: 720 }, fixture.system);
    const token = await signIn.loginWithPassword(ANN, null);
    fixture.clock.advanceSync(719 * MINUTE);
    const principal = holder(token);
    expect(principal && fixture.access.isStillValid(principal)).toBe(true);
    fixture.clock.advanceSync(MINUTE);
    expect(holder(token)).toBeNull();
    expect(principal && fixture.access.isStillValid(principal)).toBe(false);
  });

  it("is not extended by automatic requests", async () => {
    const token = await signIn.loginWithPassword(ANN, null);
    fixture.clock.advanceSync(29 * MINUTE);
    expect(fixture.access.authenticate(tokenOf(token), "cookie", false)).not.toBeNull();
    fixture.clock.advanceSync(MINUTE);
    expect(fixture.access.authenticate(tokenOf(token), "cookie", false)).toBeNull();
  });

  it("is not extended by isStillValid", async () => {
    const principal = holder(await signIn.loginWithPassword(ANN, null));
    if (!principal) throw new Error("no session");
    await fixture.clock.advance(20 * MINUTE);
    expect(fixture.access.isStillValid(principal)).toBe(true);
    await fixture.clock.advance(10 * MINUTE);
    expect(fixture.access.isStillValid(principal)).toBe(false);
  });

  it("ends at logout, during a lock and at a new password; permanent tokens stay", async () => {
    const first = await signIn.loginWithPassword(ANN, null);
    const second = await signIn.loginWithPassword(ANN, null);
    const principal = holder(first);
    if (!principal) throw new Error("no session");
    await revokeSession(fixture.store, principal, fixture.system);
    expect([holder(first), fixture.access.isStillValid(principal)]).toEqual([null, false]);
    expect(holder(second)).not.toBeNull();
    const { token: permanent } = await createToken(fixture.store, annId, { name: "script" }, fixture.system);
    const lock = { start: null, end: new Date(fixture.clock.now() + 1_000).toISOString() };
    await fixture.store.update(users, annId, { lock }, fixture.system);
    expect(holder(second)).toBeNull();
    await fixture.store.update(users, annId, { lock: null }, fixture.system);
    await fixture.store.update(users, annId, { name: "Anna" }, fixture.system);
    expect(holder(second)).not.toBeNull();
    await fixture.store.update(users, annId, {}, fixture.system, { passwordHash: await hashPassword("another one") });
    expect(holder(second)).toBeNull();
    expect(sessions()).toEqual([]);
    expect(fixture.access.authenticate(permanent)).not.toBeNull();
  });

  it("deletes expired sessions and the oldest of too many", async () => {
    await signIn.loginVerifiedUser(annId, null);
    fixture.clock.advanceSync(13 * 60 * MINUTE);
    const tokens: string[] = [];
    for (let at = 0; at < 21; at++) tokens.push(await signIn.loginVerifiedUser(annId, null));
    expect(sessions()).toHaveLength(20);
    expect(tokens.map((token) => holder(token) !== null)).toEqual([false, ...Array.from({ length: 20 }, () => true)]);
  });
});
