import { TOTP } from "otpauth";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLoginService, type LoginService } from "../../../src/auth/login.ts";
import { hashPassword } from "../../../src/auth/passwords.ts";
import secondFactors from "../../../src/resources/people/second-factors.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import auditEntries from "../../../src/resources/security/audit-entries.ts";
import type { ActorContext } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const PASSWORD = "correct horse battery";
const ANN = { email: "ann@example.org", password: PASSWORD };
const HOME = "10.0.0.1";
const MINUTE = 60_000;

let fixture: AccessFixture;
let signIn: LoginService;
let annId: string;
let ann: ActorContext;
/** What the cloud is asked to prove. */
let proven: string[];
beforeEach(async () => {
  fixture = await openAccess(makeTempDir());
  proven = [];
  signIn = createLoginService({ ...fixture, onPasswordLogin: (_token, _user, password) => void proven.push(password) });
  const passwordHash = await hashPassword(PASSWORD);
  annId = (await fixture.store.create(users, { name: "Ann", email: ANN.email }, fixture.system, { passwordHash })).id;
  ann = { ...fixture.system, actor: { kind: "user", userId: annId, name: "Ann", address: HOME } };
});
afterEach(() => fixture.close());

const userRow = () =>
  fixture.store.get(users, annId) as NonNullable<ReturnType<typeof fixture.store.get<typeof users>>>;
const rows = () => fixture.store.find(secondFactors, { userId: annId });
const sessions = () => fixture.store.find(userTokens, { userId: annId, kind: "session" });
const codeOf = (secret: string) => new TOTP({ secret }).generate({ timestamp: fixture.clock.now() });
const nextStep = () => fixture.clock.advanceSync(30_000);

async function enrol(): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { secret } = signIn.secondFactors.beginTotp(userRow(), null);
  const recoveryCodes = await signIn.secondFactors.confirmTotp(userRow(), codeOf(secret), "", ann);
  nextStep();
  return { secret, recoveryCodes };
}

async function ticket(account: object = {}): Promise<string> {
  const login = await signIn.loginWithPassword({ ...ANN, ...account }, HOME);
  if (!("ticket" in login)) throw new Error("the password was enough");
  return login.ticket;
}

/** How a log-in with a code ends: "in", or the type of the error. */
const complete = (of: string, code: string) =>
  signIn.completeLogin(of, code, HOME).then(
    () => "in",
    (error: { type: string }) => error.type,
  );

describe("enrolment", () => {
  it("counts only once a code of the key was confirmed", async () => {
    const { secret, uri } = signIn.secondFactors.beginTotp(userRow(), "bells.example.org");
    expect(decodeURIComponent(uri)).toContain("Carillon (bells.example.org):ann@example.org");
    expect(await signIn.loginWithPassword(ANN, HOME)).toHaveProperty("session");
    const wrong = codeOf(secret) === "000000" ? "000001" : "000000";
    await expect(signIn.secondFactors.confirmTotp(userRow(), wrong, "", ann)).rejects.toMatchObject({
      faults: [{ field: "code", type: "invalid-value" }],
    });
    expect(rows()).toEqual([]);
    const codes = await signIn.secondFactors.confirmTotp(userRow(), ` ${codeOf(secret)} `, "", ann);
    expect(new Set(codes).size).toBe(10);
    expect(codes.every((code) => /^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/.test(code))).toBe(true);
    expect(await signIn.loginWithPassword(ANN, HOME)).toMatchObject({ secondFactors: ["totp", "recovery-codes"] });
  });

  it("stores the key sealed and the codes hashed", async () => {
    const { secret, recoveryCodes } = await enrol();
    const stored = JSON.stringify([rows(), fixture.store.find(auditEntries, {}, 1_000)]);
    expect(rows().find(({ kind }) => kind === "totp")?.secret).toMatch(/^v1:/);
    expect(stored).not.toContain(secret);
    for (const code of recoveryCodes) {
      expect(stored).not.toContain(code);
      expect(stored).not.toContain(code.replaceAll("-", ""));
    }
  });

  it("ends the other sessions of the user, and no others", async () => {
    await signIn.loginWithPassword(ANN, HOME);
    await signIn.loginWithPassword(ANN, HOME);
    const [mine, other] = sessions();
    const { secret } = signIn.secondFactors.beginTotp(userRow(), null);
    await signIn.secondFactors.confirmTotp(userRow(), codeOf(secret), mine?.id ?? "", ann);
    expect(sessions().map(({ id }) => id)).toEqual([mine?.id]);
    expect(other).toBeDefined();
  });

  it("expires after ten minutes, and works once", async () => {
    const { secret } = signIn.secondFactors.beginTotp(userRow(), null);
    fixture.clock.advanceSync(10 * MINUTE);
    const confirm = () => signIn.secondFactors.confirmTotp(userRow(), codeOf(secret), "", ann);
    await expect(confirm()).rejects.toMatchObject({ type: "conflict" });
    const again = signIn.secondFactors.beginTotp(userRow(), null);
    const both = await Promise.allSettled(
      [1, 2].map(() => signIn.secondFactors.confirmTotp(userRow(), codeOf(again.secret), "", ann)),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("replaces the former app with its recovery codes", async () => {
    const first = await enrol();
    const second = await enrol();
    expect(await complete(await ticket(), codeOf(first.secret))).toBe("invalid-value");
    expect(await complete(await ticket(), first.recoveryCodes[0] as string)).toBe("invalid-value");
    expect(await complete(await ticket(), codeOf(second.secret))).toBe("in");
    expect(rows().map(({ kind }) => kind)).toEqual(["totp", "recovery-codes"]);
  });
});

describe("a log-in with a second factor", () => {
  it("starts no session, and asks the cloud for nothing, before the code", async () => {
    const { secret } = await enrol();
    const before = sessions().length;
    const of = await ticket();
    expect([sessions().length, proven]).toEqual([before, []]);
    expect(fixture.access.authenticate(of, "cookie")).toBeNull();
    expect(fixture.access.authenticate(of, "bearer")).toBeNull();
    const { session, userId } = await signIn.completeLogin(of, codeOf(secret), HOME);
    expect(userId).toBe(annId);
    expect(fixture.access.authenticate(session, "cookie")).toMatchObject({ userId: annId });
    expect(proven).toEqual([PASSWORD]);
    const [audited] = fixture.store.find(auditEntries, { op: "log-in", rowId: annId }, 1_000).slice(-1);
    expect(audited?.details).toEqual({ secondFactor: "totp" });
  });

  it("takes a code once, whichever log-in gave it", async () => {
    const { secret } = await enrol();
    const [first, second] = [await ticket(), await ticket()];
    const code = codeOf(secret);
    const results = await Promise.all([complete(first, code), complete(second, code)]);
    expect(results.sort()).toEqual(["in", "invalid-value"]);
    expect(await complete(second, code)).not.toBe("in");
  });

  it("takes each recovery code once, in any spelling", async () => {
    const { recoveryCodes } = await enrol();
    const [first = "", second = ""] = recoveryCodes;
    expect(await complete(await ticket(), first.toLowerCase().replaceAll("-", " "))).toBe("in");
    expect(await complete(await ticket(), first)).toBe("invalid-value");
    expect(rows().find(({ kind }) => kind === "recovery-codes")?.codesLeft).toBe(9);
    expect(await complete(await ticket(), second.replaceAll("0", "O").replaceAll("1", "l"))).toBe("in");
    for (const code of recoveryCodes.slice(2)) expect(await complete(await ticket(), code)).toBe("in");
    for (const code of ["", " ", "-"]) expect(await complete(await ticket(), code)).toBe("invalid-value");
  });

  it("does not take the recovery code of somebody else", async () => {
    const { recoveryCodes } = await enrol();
    const passwordHash = await hashPassword(PASSWORD);
    const email = "bob@example.org";
    const bob = await fixture.store.create(users, { name: "Bob", email }, fixture.system, { passwordHash });
    const { secret } = signIn.secondFactors.beginTotp(bob, null);
    await signIn.secondFactors.confirmTotp(bob, codeOf(secret), "", {
      ...fixture.system,
      actor: { kind: "user", userId: bob.id, name: "Bob", address: null },
    });
    expect(await complete(await ticket({ email }), recoveryCodes[0] as string)).toBe("invalid-value");
  });

  it("works once per ticket, for five minutes and five wrong codes", async () => {
    const { secret } = await enrol();
    const used = await ticket();
    expect(await complete(used, codeOf(secret))).toBe("in");
    nextStep();
    expect(await complete(used, codeOf(secret))).toBe("unauthorized");
    const late = await ticket();
    fixture.clock.advanceSync(5 * MINUTE);
    expect(await complete(late, codeOf(secret))).toBe("unauthorized");
    const guessed = await ticket();
    for (let at = 0; at < 5; at++) expect(await complete(guessed, "no code")).toBe("invalid-value");
    expect(await complete(guessed, codeOf(secret))).toBe("unauthorized");
    expect(await complete("", codeOf(secret))).toBe("unauthorized");
    expect(await complete("carillon_invented", codeOf(secret))).toBe("unauthorized");
  });

  it.each([
    ["a lock", () => fixture.store.update(users, annId, { lock: { start: null, end: null } }, fixture.system)],
    [
      "a new password",
      async () => {
        const passwordHash = await hashPassword("another password");
        await fixture.store.update(users, annId, {}, fixture.system, { passwordHash, passwordChangedAt: 1 });
      },
    ],
    ["a deleted account", () => fixture.store.remove(users, annId, fixture.system)],
  ])("ends with %s between the two steps", async (_what, change) => {
    const { secret } = await enrol();
    const of = await ticket();
    await change();
    expect(await complete(of, codeOf(secret))).toBe("unauthorized");
  });

  it("throttles codes by the account, although each right password gives a new ticket", async () => {
    const { secret } = await enrol();
    const results: string[] = [];
    for (let at = 0; at < 14; at++) results.push(await complete(await ticket(), "no code"));
    expect(results.slice(0, 11)).toEqual(Array(11).fill("invalid-value"));
    expect(results.slice(11)).toEqual(Array(3).fill("too-many-requests"));
    expect(await complete(await ticket(), codeOf(secret))).toBe("too-many-requests");
    fixture.clock.advanceSync(2_000);
    expect(await complete(await ticket(), codeOf(secret))).toBe("in");
  });

  it("allows some hundred guesses a day at most, whatever breaks a guesser makes", async () => {
    const { recoveryCodes } = await enrol();
    for (const breakMs of [1_000, 5 * MINUTE, 16 * MINUTE]) {
      let guesses = 0;
      const end = fixture.clock.now() + 86_400_000;
      while (fixture.clock.now() < end) {
        const type = await signIn
          .verifyOwner(annId, { currentPassword: null, code: "no code" }, ann)
          .catch((error: { type: string }) => error.type);
        if (type === "invalid-value") guesses += 1;
        else fixture.clock.advanceSync(breakMs);
      }
      expect(guesses).toBeLessThan(130);
      expect(guesses).toBeGreaterThan(50);
    }
    fixture.clock.advanceSync(15 * MINUTE);
    expect(await complete(await ticket(), recoveryCodes[0] as string)).toBe("in");
  });

  it("sets the new password of a user who must set one after the code only", async () => {
    const { secret } = await enrol();
    await fixture.store.update(users, annId, { passwordResetRequired: true }, fixture.system);
    const newPassword = "staple battery horse";
    const before = userRow().passwordHash;
    const of = await ticket({ newPassword });
    expect(userRow()).toMatchObject({ passwordHash: before, passwordResetRequired: true });
    expect(await complete(of, codeOf(secret))).toBe("in");
    expect(userRow()).toMatchObject({ passwordResetRequired: false });
    expect(await ticket({ password: newPassword })).not.toBe("");
  });

  it("gives an appliance no proof of a log-in by the password alone", async () => {
    expect(await signIn.verifyPassword(ANN, "endpoint:1")).toBe(annId);
    await enrol();
    await expect(signIn.verifyPassword(ANN, "endpoint:1")).rejects.toMatchObject({ type: "unauthorized" });
  });

  it("audits wrong codes", async () => {
    await enrol();
    await complete(await ticket(), "no code");
    const refused = fixture.store.find(auditEntries, { op: "log-in-refused", rowId: annId }, 10);
    expect(refused.map(({ details, address }) => ({ details, address }))).toEqual([
      { details: { reason: "The code of the second factor was wrong." }, address: HOME },
    ]);
  });

  it("keeps the tickets of others from somebody who knows one password", async () => {
    const { secret } = await enrol();
    const mine = await ticket();
    const passwordHash = await hashPassword(PASSWORD);
    const email = "bob@example.org";
    const bob = await fixture.store.create(users, { name: "Bob", email }, fixture.system, { passwordHash });
    const key = signIn.secondFactors.beginTotp(bob, null).secret;
    await signIn.secondFactors.confirmTotp(bob, codeOf(key), "", fixture.system);
    for (let at = 0; at < 30; at++) await ticket({ email });
    expect(await complete(mine, codeOf(secret))).toBe("in");
  });
});

describe("removal", () => {
  it("needs the password or a code", async () => {
    const { secret } = await enrol();
    const verify = (proof: { currentPassword: string | null; code?: string }) =>
      signIn.verifyOwner(annId, proof, ann).then(
        () => "verified",
        (error: { faults: { field: string; type: string }[] }) => `${error.faults[0]?.field} ${error.faults[0]?.type}`,
      );
    expect(await verify({ currentPassword: null })).toBe("currentPassword required");
    expect(await verify({ currentPassword: "wrong horse" })).toBe("currentPassword invalid-value");
    expect(await verify({ currentPassword: null, code: "no code" })).toBe("code invalid-value");
    expect(await verify({ currentPassword: PASSWORD })).toBe("verified");
    expect(await verify({ currentPassword: null, code: codeOf(secret) })).toBe("verified");
    expect(await verify({ currentPassword: null, code: codeOf(secret) })).toBe("code invalid-value");
  });

  it("lets the password be enough again, and ends sessions on request", async () => {
    await enrol();
    const before = (
      await signIn.completeLogin(await ticket(), (await signIn.renewRecoveryCodes(annId, ann))[0] ?? "", HOME)
    ).session;
    await signIn.removeSecondFactors(annId, ann, { endSessions: false });
    expect(await signIn.loginWithPassword(ANN, HOME)).toHaveProperty("session");
    expect(fixture.access.authenticate(before, "cookie")).not.toBeNull();
    await enrol();
    await signIn.removeSecondFactors(annId, fixture.system, { endSessions: true });
    expect([sessions(), rows()]).toEqual([[], []]);
    await expect(signIn.removeSecondFactors(annId, fixture.system, { endSessions: true })).rejects.toMatchObject({
      type: "not-found",
    });
    await expect(signIn.renewRecoveryCodes(annId, ann)).rejects.toMatchObject({ type: "conflict" });
  });
});
