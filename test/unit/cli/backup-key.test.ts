import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseIdentities } from "../../../src/ops/backup/backup-encryption.ts";
import { loadSettings, parseSettings } from "../../../src/settings/load-settings.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { runCommand } from "./run-command.ts";

const settingsFile = (text: string): string => {
  const file = join(makeTempDir(), "carillon.yaml");
  writeFileSync(file, text, { mode: 0o640 });
  return file;
};

describe("carillon backup key create", () => {
  it("prints the identity and keeps only the public key, beside the comments and settings of the file", async () => {
    const file = settingsFile("# The settings of the school\nbackups:\n  keepDays: 9 # days\n");
    const { exitCode, out } = await runCommand(["backup", "key", "create", "--config", file]);
    expect(exitCode).toBe(0);
    const [identity] = parseIdentities(out.join("\n"), "stdout");
    const text = readFileSync(file, "utf8");
    expect(text).toContain("# The settings of the school");
    expect(text).toContain("keepDays: 9 # days");
    expect(text).not.toContain(identity);
    const { recipients } = loadSettings(file).backups;
    expect(out.join("\n")).toContain(`# public key: ${recipients[0]}`);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const second = await runCommand(["backup", "key", "create", "--config", file, "--json"]);
    const created = JSON.parse(second.out.join("")) as { identity: string; recipient: string };
    expect(loadSettings(file).backups.recipients).toEqual([recipients[0], created.recipient]);
  });

  it("shows which public key an identity belongs to, and fails if it is none", async () => {
    const file = settingsFile("");
    const identity = join(makeTempDir(), "identity.txt");
    const show = (...more: string[]) => runCommand(["backup", "key", "show", "--config", file, ...more]);
    expect(await show()).toMatchObject({ exitCode: 0, out: [], err: [expect.stringContaining("not encrypted")] });
    await runCommand(["backup", "key", "create", "--config", file]);
    const { out } = await runCommand(["backup", "key", "create", "--config", file]);
    writeFileSync(identity, out.join("\n"));
    const [first, second] = loadSettings(file).backups.recipients;
    expect(await show()).toMatchObject({ exitCode: 0, out: [first, second] });
    expect(await show("--identity", identity)).toMatchObject({ exitCode: 0, out: [first, `${second}  this identity`] });
    const json = JSON.parse((await show("--identity", identity, "--json")).out.join("")) as unknown;
    expect(json).toEqual({
      recipients: [
        { recipient: first, matches: false },
        { recipient: second, matches: true },
      ],
    });
    writeFileSync(identity, (await runCommand(["backup", "key", "create"])).out.join("\n"));
    const stranger = await show("--identity", identity);
    expect(stranger.exitCode).toBe(1);
    expect(stranger.err.join()).toContain("belongs to none");
  });

  it("adds to an empty file, and to none of a wrong form", async () => {
    const empty = settingsFile("");
    expect((await runCommand(["backup", "key", "create", "--config", empty])).exitCode).toBe(0);
    expect(loadSettings(empty).backups.recipients).toHaveLength(1);
    for (const text of ["backups: 7\n", "backups: [\n", "unknown: 1\n"]) {
      const file = settingsFile(text);
      const { exitCode, out } = await runCommand(["backup", "key", "create", "--config", file]);
      expect(exitCode).not.toBe(0);
      expect(out).toEqual([]);
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });

  it("leaves taking a backup as it is, which needs the data directory", async () => {
    const { exitCode, err } = await runCommand(["backup"]);
    expect(exitCode).toBe(2);
    expect(err.join("\n")).toContain("--data <dir>");
  });
});

describe("backups.recipients", () => {
  const valid = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
  const read = (keys: string[]): unknown => parseSettings(JSON.stringify({ backups: { recipients: keys } }));

  it("takes public keys of age", () => {
    expect(read([valid])).toMatchObject({ backups: { recipients: [valid] } });
  });

  it("refuses typing errors, identities and everything else, without repeating them", () => {
    const identity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
    const wrong = [
      "",
      "age1",
      `${valid.slice(0, -1)}q`,
      valid.toUpperCase(),
      valid.slice(0, -1),
      `${valid}q`,
      identity,
    ];
    for (const text of [...wrong, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB", "age1pq1qqqq", `${valid} `, "agé1q"])
      expect(() => read([text]), text).toThrow("backups.recipients.0");
    expect(() => read([identity])).not.toThrow("GFPYYSJZ");
  });
});
