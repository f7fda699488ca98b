import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createNewPasswords } from "../../../src/auth/new-passwords.ts";
import { verifyPassword } from "../../../src/auth/passwords.ts";
import { CallerError } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import secondFactors from "../../../src/resources/people/second-factors.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import type { AuditVerification } from "../../../src/store/audit-types.ts";
import { type ApplianceData, openApplianceDataOffline } from "../../../src/wiring/appliance-data.ts";
import { createControlCommands, type TokenSummary } from "../../../src/wiring/control-commands.ts";
import { startControlSocket } from "../../../src/wiring/control-socket.ts";
import { type InitialData, initAppliance } from "../../../src/wiring/init.ts";
import { runControlCommand } from "../../../src/wiring/run-control-command.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const clock = createFakeClock();
let dataDir: string;
let first: InitialData;

beforeAll(async () => {
  dataDir = makeTempDir();
  first = await initAppliance(dataDir, { email: "admin@example.org", password: "correct horse battery" }, clock);
});

/** Runs `use` while a daemon's control socket is up, or while there is none. */
async function withDaemon(running: boolean, use: () => Promise<void>): Promise<void> {
  if (!running) return use();
  const data: ApplianceData = await openApplianceDataOffline(dataDir, clock);
  const passwords = createNewPasswords(clock, 12);
  const socket = await startControlSocket(
    dataDir,
    createControlCommands({ ...data, passwords, settings: { tokenLifetimeDays: 365 } }),
    silentLog,
  );
  try {
    await use();
  } finally {
    await socket.stop();
    await passwords.close();
    await data.close();
  }
}

const give = (order: string, args: Record<string, unknown>): Promise<unknown> =>
  runControlCommand(dataDir, order, args, clock);

describe.each([
  ["while the daemon runs", true],
  ["while it does not", false],
])("control commands %s", (_when, running) => {
  it("verify the audit", async () => {
    await withDaemon(running, async () => {
      const verdict = (await give("audit.verify", {})) as AuditVerification;
      expect(verdict).toMatchObject({ intact: true, finished: true, broken: null });
      expect(verdict.entries).toBeGreaterThan(5);
      expect(await give("audit.verify", { noted: verdict.last })).toEqual(verdict);
      const later = { number: verdict.last.number + 1, hash: verdict.last.hash };
      expect(await give("audit.verify", { noted: later })).toMatchObject({ intact: false });
    });
  });

  it("unlock a user and set a new password", async () => {
    const email = `${running ? "ann" : "bob"}@example.org`;
    const data = await openApplianceDataOffline(dataDir, clock);
    const lock = { start: "2020-01-01T00:00:00.000Z", end: null };
    const { id } = await data.store.create(users, { name: "Locked", email, lock }, data.access.systemContext("test"));
    await data.close();
    await withDaemon(running, async () => {
      const short = give("user.unlock", { user: email, password: "short" });
      await expect(short).rejects.toMatchObject({ type: "invalid-value" });
      const glass = give("user.unlock", { user: email, breakGlass: true });
      await expect(glass).rejects.toMatchObject({ type: "required" });
      expect(await give("user.unlock", { user: email, password: "staple battery horse" })).toEqual({ id, user: email });
    });
    const after = await openApplianceDataOffline(dataDir, clock);
    const user = after.store.get(users, id);
    await after.close();
    expect([user?.lock, await verifyPassword("staple battery horse", user?.passwordHash ?? null)]).toEqual([
      null,
      true,
    ]);
  });

  it("remove the second factors of a user, and end the sessions", async () => {
    const user = `factor-${running}@example.org`;
    const data = await openApplianceDataOffline(dataDir, clock);
    const by = data.access.systemContext("test");
    const { id } = await data.store.create(users, { name: "Factor", email: user }, by);
    const secret = data.store.secrets.seal("JBSWY3DPEHPK3PXP");
    await data.store.create(secondFactors, { userId: id }, by, { kind: "totp", secret });
    const session = { kind: "session", tokenHash: `session ${running}`, expires: clock.now() + 1_000 } as const;
    await data.store.create(userTokens, { userId: id, name: "Console" }, by, session);
    await data.close();
    await withDaemon(running, async () => {
      expect(await give("user.resetFactors", { user })).toEqual({ id, user });
      await expect(give("user.resetFactors", { user })).rejects.toMatchObject({ type: "not-found" });
    });
    const after = await openApplianceDataOffline(dataDir, clock);
    const where = { userId: id };
    const left = [after.store.count(secondFactors, where), after.store.count(userTokens, where)];
    await after.close();
    expect(left).toEqual([0, 0]);
  });

  it("create, list and revoke tokens", async () => {
    const user = "ADMIN@example.org";
    await withDaemon(running, async () => {
      const expires = "2027-01-01T00:00:00.000Z";
      const made = (await give("token.create", { user, name: "scripts", expires })) as TokenSummary & { token: string };
      expect(made).toMatchObject({ userId: first.userId, user: "admin@example.org", name: "scripts", expires });
      expect(made.token).toMatch(/^carillon_/);
      const listed = (await give("token.list", { user: first.userId })) as TokenSummary[];
      expect(listed.map(({ name }) => name)).toEqual(["init", "scripts"]);
      expect(JSON.stringify(listed)).not.toContain(made.token);
      expect(await give("token.revoke", { tokenId: made.id })).toMatchObject({ id: made.id });
      expect(await give("token.list", {})).toHaveLength(1);
      await expect(give("token.revoke", { tokenId: made.id })).rejects.toMatchObject({ type: "not-found" });
    });
  });

  it("create tokens for a year unless they never expire, and end everything of a user", async () => {
    const email = `${running ? "eva" : "ida"}@example.org`;
    const data = await openApplianceDataOffline(dataDir, clock);
    const { id } = await data.store.create(users, { name: "Revoked", email }, data.access.systemContext("test"));
    await data.close();
    await withDaemon(running, async () => {
      const usual = await give("token.create", { user: email, name: "usual", addresses: ["192.0.2.0/24"] });
      const expires = new Date(clock.now() + 365 * 86_400_000).toISOString();
      expect(usual).toMatchObject({ expires, addresses: ["192.0.2.0/24"], lastUsedAddress: null });
      const never = give("token.create", { user: email, name: "never", expires: "never" });
      expect(await never).toMatchObject({ expires: null, addresses: [] });
      expect(await give("user.revoke", { user: email })).toEqual({ id, user: email, revoked: 2 });
      expect(await give("token.list", { user: email })).toEqual([]);
      await expect(give("user.revoke", { user: "nobody" })).rejects.toMatchObject({ type: "invalid-value" });
    });
  });

  it.each([
    [{ user: "admin@example.org", name: "x", addresses: ["school"] }, "addresses"],
    [{ user: "nobody@example.org", name: "x" }, "user"],
    [{ user: 7, name: "x" }, "user"],
    [{ name: "x" }, "user"],
    [{ user: "admin@example.org" }, "name"],
    [{ user: "admin@example.org", name: "x", expires: "soon" }, "expires"],
    [{ user: "admin@example.org", name: "x", expires: "2020-01-01T00:00:00Z" }, "expires"],
  ])("reject %j", async (args, field) => {
    await withDaemon(running, async () => {
      const fault = await give("token.create", args).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(CallerError);
      expect((fault as Error).message).toContain(`Field ${field}`);
    });
  });
});

describe("a folder without an appliance", () => {
  it("is reported and left unchanged", async () => {
    const empty = makeTempDir();
    await expect(runControlCommand(empty, "token.list", {}, clock)).rejects.toMatchObject({
      context: { dataDir: empty },
    });
    expect(existsSync(join(empty, "carillon.db"))).toBe(false);
  });
});
