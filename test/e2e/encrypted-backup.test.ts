import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { loadSettings } from "../../src/settings/load-settings.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { runCommand } from "../unit/cli/run-command.ts";

interface Backups {
  encrypted: boolean;
  backups: { name: string; encrypted: boolean }[];
}

it("encrypts, verifies and restores by the commands of the handbook, with two identities and an older plain backup", async () => {
  const desk = makeTempDir();
  const [config, identity, second] = ["carillon.yaml", "identity.txt", "second.txt"].map((name) =>
    join(desk, name),
  ) as [string, string, string];
  const run = async (...argv: string[]): Promise<string> => {
    const { exitCode, out, err } = await runCommand(argv);
    expect(err.join("\n"), argv.join(" ")).not.toContain("AGE-SECRET-KEY");
    expect([argv.join(" "), exitCode, err.join("\n")]).toEqual([argv.join(" "), EXIT.ok, expect.any(String)]);
    return out.join("\n");
  };
  writeFileSync(config, "network: {multicastInterface: 127.0.0.1}\n");
  const before = await startTestDaemon({ settings: readFileSync(config, "utf8") });
  const { dataDir } = before;
  await before.call("POST", "/users", { name: "Ada Lovelace", email: "ada@example.org" });
  const plain = await run("backup", "--data", dataDir, "--to", desk);
  await before.stop();

  writeFileSync(identity, await run("backup", "key", "create", "--config", config));
  writeFileSync(second, await run("backup", "key", "create", "--config", config));
  expect(await run("backup", "key", "show", "--config", config, "--identity", second)).toContain("this identity");
  expect(loadSettings(config).backups.recipients).toHaveLength(2);

  const daemon = await startTestDaemon({ settings: readFileSync(config, "utf8"), after: before });
  await daemon.call("POST", "/users", { name: "Grace Hopper", email: "grace@example.org" });
  const file = await run("backup", "--data", dataDir);
  const shown = (await daemon.call<Backups>("GET", "/backups")).body;
  expect(shown).toMatchObject({ encrypted: true, backups: [{ encrypted: true }] });
  expect(file).toContain(shown.backups[0]?.name);
  expect(readFileSync(file).includes("Grace Hopper")).toBe(false);
  await daemon.stop();
  const offline = await run("backup", "--data", dataDir, "--to", desk);
  expect(offline).toMatch(/\.tar\.age$/);

  for (const path of filesBelow(dataDir)) expect(readFileSync(path).includes("AGE-SECRET-KEY"), path).toBe(false);

  expect(await run("verify", file)).toContain("its content is checked with --identity FILE");
  expect(await run("verify", file, "--identity", identity)).toContain("rows");
  const key = join(desk, "secret-key");
  await run("key", "export", "--data", dataDir, "--to", key);
  const refused = await runCommand(["restore", file, "--data", join(desk, "refused"), "--key", key]);
  expect([refused.exitCode, refused.err.join()]).toEqual([EXIT.usage, expect.stringContaining("--identity FILE")]);
  const damaged = join(desk, "damaged.tar.age");
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(70_000) ^ 1, 70_000);
  writeFileSync(damaged, bytes);
  copyFileSync(`${file}.json`, `${damaged}.json`);
  const found = await runCommand(["verify", damaged]);
  expect([found.exitCode, found.err.join()]).toEqual([EXIT.failure, expect.stringContaining("checksum mismatch")]);

  const restored = async (...argv: string[]): Promise<string[]> => {
    const target = makeTempDir();
    await run("restore", ...argv, "--data", target, "--key", key);
    const again = await startTestDaemon({
      settings: readFileSync(config, "utf8"),
      after: { ...before, dataDir: target },
    });
    try {
      const { body } = await again.call<{ data: { name: string }[] }>("GET", "/users?limit=100");
      return body.data.map(({ name }) => name).sort();
    } finally {
      await again.stop();
    }
  };
  expect(await restored(file, "--identity", second)).toEqual(["Ada Lovelace", "Administrator", "Grace Hopper"]);
  expect(await restored(offline, "--identity", identity)).toEqual(["Ada Lovelace", "Administrator", "Grace Hopper"]);
  expect(await restored(plain)).toEqual(["Ada Lovelace", "Administrator"]);
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(existsSync);
}
