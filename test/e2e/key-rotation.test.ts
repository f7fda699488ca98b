import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { createSecrets } from "../../src/store/secrets.ts";
import { openApplianceDataOffline } from "../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../src/wiring/init.ts";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { startTestDaemon, TEST_ADMIN } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { runCommand } from "../unit/cli/run-command.ts";

it("replaces the secret key by the commands of the handbook, with backups from before and after it", async () => {
  const safe = makeTempDir();
  const [oldKey, newKey] = [join(safe, "old-key"), join(safe, "new-key")];
  const run = async (...argv: string[]): Promise<string> => {
    const { exitCode, out, err } = await runCommand(argv);
    expect([argv.join(" "), exitCode, err.join("\n")]).toEqual([argv.join(" "), EXIT.ok, expect.any(String)]);
    return out.join("\n");
  };
  const first = await startTestDaemon();
  const { dataDir } = first;
  const rotate = ["key", "rotate", "--data", dataDir, "--old-key-to", oldKey];
  await first.call("POST", "/users", { name: "Ada Lovelace", email: "ada@example.org" });
  const earlier = await run("backup", "--data", dataDir, "--to", safe);
  const refused = await runCommand(rotate);
  expect(refused.exitCode).not.toBe(EXIT.ok);
  expect(refused.err.join()).toContain("Stop it first");
  await first.stop();

  const { before, after } = JSON.parse(await run(...rotate, "--json")) as { before: string; after: string };
  expect(after).not.toBe(before);
  await run("key", "export", "--data", dataDir, "--to", newKey);
  expect(await run("audit", "verify", "--data", dataDir)).toContain("intact");
  const again = await startTestDaemon({ after: first });
  expect((await again.call("GET", "/users?limit=10")).status).toBe(200);
  const later = await run("backup", "--data", dataDir, "--to", safe);
  await again.stop();

  for (const [file, right, wrong] of [
    [earlier, oldKey, newKey],
    [later, newKey, oldKey],
  ] as const) {
    const target = join(makeTempDir(), "data");
    const mistaken = await runCommand(["restore", file, "--data", target, "--key", wrong]);
    expect(mistaken.err.join()).toContain("not the key");
    await run("restore", file, "--data", target, "--key", right);
    expect(await run("audit", "verify", "--data", target)).toContain("intact");
  }
  const without = join(makeTempDir(), "data");
  await run("restore", later, "--data", without, "--without-key");
  expect(await run("audit", "verify", "--data", without)).toContain("intact");
});

it("leaves every secret readable when it is killed at any moment", { timeout: 120_000 }, async () => {
  const dataDir = makeTempDir();
  await initAppliance(dataDir, TEST_ADMIN, systemClock);
  const keyFile = join(dataDir, "secret-key");
  const seal = createSecrets(readFileSync(keyFile));
  const db = new Database(join(dataDir, "carillon.db"));
  const add = db.prepare(
    "INSERT INTO idempotency_keys (owner, key, request_hash, at, response) VALUES ('owner', ?, 'hash', 0, ?)",
  );
  const texts = Array.from({ length: 20_000 }, (_, number) => `response ${number}`);
  db.transaction(() => texts.forEach((text, number) => void add.run(String(number), seal.seal(text))))();
  db.close();
  const ends: boolean[] = [];
  for (const afterMs of [0, 60, 200, 500]) {
    const used = readFileSync(keyFile);
    const argv = ["key", "rotate", "--data", dataDir, "--old-key-to", join(makeTempDir(), "old-key")];
    const child = spawn(process.execPath, [join(REPOSITORY_ROOT, "dist/src/main.js"), ...argv], { stdio: "ignore" });
    const ended = once(child, "close");
    while (!existsSync(`${keyFile}.new`) && child.exitCode === null) await turn();
    const begun = performance.now();
    while (performance.now() - begun < afterMs) await turn();
    child.kill("SIGKILL");
    await ended;
    rmSync(join(dataDir, "control.sock"), { force: true });
    const data = await openApplianceDataOffline(dataDir, systemClock);
    const rows = data.store.all<{ response: string }>("SELECT response FROM idempotency_keys ORDER BY key + 0");
    expect(rows.map(({ response }) => data.store.secrets.open(response))).toEqual(texts);
    expect((await data.store.audit.verify({})).intact).toBe(true);
    await data.close();
    expect(existsSync(`${keyFile}.new`)).toBe(false);
    ends.push(readFileSync(keyFile).equals(used));
  }
  expect(ends).toContain(true);
});
