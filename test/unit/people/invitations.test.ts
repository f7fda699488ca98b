import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLoginService, type LoginService } from "../../../src/auth/login.ts";
import { acceptInvitation, createInvitation, DEVICE_SESSION_MS } from "../../../src/people/invitations.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import auditEntries from "../../../src/resources/security/audit-entries.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const DAY_MS = 86_400_000;

let fixture: AccessFixture;
let signIn: LoginService;
beforeEach(async () => {
  fixture = await openAccess(makeTempDir());
  signIn = createLoginService(fixture);
});
afterEach(() => fixture.close());

const accept = (code: string, address: string | null = null) =>
  acceptInvitation({ ...fixture, signIn }, { code, name: "Ann's phone" }, address);

describe("an invitation", () => {
  it("logs in a device once, with a cookie, for its user's own resources only", async () => {
    const admin = await fixture.user("Ann", "get /users/*", "get /notifications/*", "put /users/*");
    const { code } = await createInvitation(fixture, admin.id, fixture.system);
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
    const token = await accept(` ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o")} `);
    expect(fixture.access.authenticate(token)).toBeNull();
    const principal = fixture.access.authenticate(token, "cookie");
    expect(principal).toMatchObject({ userId: admin.id, accessToken: null });
    const scope = fixture.access.resolveScope(principal as never, null);
    const own = `/users/${admin.id}`;
    expect(scope.allows("post", `${own}/devices`)).toBe(true);
    expect(scope.allows("get", `${own}/notifications/0190a1b2-0000-7000-8000-000000000001`)).toBe(true);
    const below = ["tokens", "profile", "subscriptions", "security-groups", "all-permissions"].map(
      (at) => `${own}/${at}`,
    );
    for (const path of ["/users/0190a1b2-0000-7000-8000-000000000001", "/notifications", ...below]) {
      expect(scope.allows("get", path), path).toBe(false);
    }
    for (const path of [own, `${own}/password`, `${own}/profile`]) expect(scope.allows("put", path), path).toBe(false);
    expect(scope.allows("post", `${own}/invitations`)).toBe(false);
    await expect(accept(code)).rejects.toMatchObject({ type: "unauthorized" });
    const kept = fixture.store.find(userTokens, { userId: admin.id }).map(({ kind, name }) => [kind, name]);
    expect(kept).toContainEqual(["device", "Ann's phone"]);
    expect(kept.map(([kind]) => kind)).not.toContain("invitation");
  });

  it("expires after a week, and its session after 400 days", async () => {
    const { id } = await fixture.user("Bob");
    const [early, late] = [
      await createInvitation(fixture, id, fixture.system),
      await createInvitation(fixture, id, fixture.system),
    ];
    fixture.clock.advanceSync(7 * DAY_MS - 1);
    const token = await accept(early.code);
    fixture.clock.advanceSync(1);
    await expect(accept(late.code)).rejects.toMatchObject({ type: "unauthorized" });
    expect(fixture.store.find(auditEntries, { op: "log-in-refused" })).toMatchObject([{ rowId: id, actorName: "Bob" }]);
    fixture.clock.advanceSync(DEVICE_SESSION_MS - 2);
    expect(fixture.access.authenticate(token, "cookie")).not.toBeNull();
    fixture.clock.advanceSync(1);
    expect(fixture.access.authenticate(token, "cookie")).toBeNull();
  });

  it("cannot be created by users with fewer permissions, and limits guesses", async () => {
    const strong = await fixture.user("Cid", "put /users/*");
    const weak = fixture.by((await fixture.user("Dan")).token);
    await expect(createInvitation(fixture, strong.id, weak)).rejects.toMatchObject({ type: "forbidden" });
    for (let guess = 0; guess < 21; guess++) {
      await expect(accept("0000-0000-0000-0000", "192.0.2.7")).rejects.toMatchObject({ type: "unauthorized" });
    }
    await expect(accept("0000-0000-0000-0000", "192.0.2.7")).rejects.toMatchObject({ type: "too-many-requests" });
  });
});
