import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../../src/lib/exit-codes.ts";
import { settingsJsonSchema } from "../../../src/settings/schema.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { runCommand } from "./run-command.ts";

const PASSWORD = "correct horse battery";

/** Every command and sub-command, as its help is asked for. */
const COMMANDS = [
  "",
  "init",
  "serve",
  "hub",
  "tenants",
  "tenants add",
  "tenants release",
  "token",
  "token create",
  "token list",
  "token revoke",
  "user",
  "user unlock",
  "user reset-factors",
  "audit",
  "audit verify",
  "backup",
  "backup key",
  "backup key create",
  "backup key show",
  "verify",
  "restore",
  "key",
  "key export",
  "key rotate",
  "upgrade",
  "upgrade-rollback",
  "upgrade-offer",
  "upgrade-key",
  "upgrade-pack",
  "licence",
  "licence show",
  "licence install",
  "licence remove",
  "tls",
  "tls show",
  "tls install",
  "tls remove",
  "doctor",
  "logs",
  "logs collect",
  "openapi",
  "settings",
  "settings check",
  "settings show",
  "settings schema",
  "bulk",
  "load",
  "device",
  "device phone",
  "device zone",
  "device list",
  "send",
  "alarms",
  "alarms list",
  "alarms acknowledge",
  "agent",
  "bells",
  "bells certify",
  "bells preview",
  "bells diff",
  "clusters",
  "clusters test",
  "clusters read",
  "link",
  "link code",
  "link enrol",
  "link status",
  "link leave",
  "link revoke",
  "conformance",
  "plugin",
  "plugin new",
  "plugin check",
  "plugin install",
  "plugin enable",
  "plugin disable",
  "simulator",
  "demo",
].map((command) => command.split(" ").filter((word) => word !== ""));

describe("command line", () => {
  it.each(COMMANDS)("has help with an example: %s %s", async (...command) => {
    const { exitCode, out, err } = await runCommand([...command, "--help"]);
    expect(exitCode).toBe(EXIT.ok);
    expect(err).toEqual([]);
    expect(out.join("\n")).toContain(["Usage: carillon", ...command].join(" "));
    expect(out.join("\n")).toMatch(/\nExample:\n {2}\S/);
  });

  it.each([
    ["campus", "simulator|campus"],
    ["conform", "conformance|conform"],
    ["hub-organisations", "tenants|hub-organisations"],
    ["config", "settings|config"],
  ])("keeps %s as an alias", async (alias, names) => {
    const { exitCode, out } = await runCommand([alias, "--help"]);
    expect([exitCode, out.join("\n")]).toEqual([EXIT.ok, expect.stringContaining(`Usage: carillon ${names} `)]);
  });

  it("prints its version", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect(await runCommand(["--version"])).toEqual({ exitCode: EXIT.ok, out: [version], err: [] });
  });

  it("documents the exit codes", async () => {
    const { out } = await runCommand(["--help"]);
    for (const code of Object.values(EXIT)) expect(out.join("\n")).toMatch(new RegExp(`^ +${code} +\\S`, "m"));
  });

  it("rejects an invalid --listen", async () => {
    const { exitCode, err } = await runCommand(["serve", "--data", makeTempDir(), "--listen", "8080"]);
    expect([exitCode, err.join()]).toEqual([EXIT.usage, expect.stringContaining("--listen must be HOST:PORT")]);
  });

  it.each([[["nonsense"]], [["init"]], [["init", "--data", "x", "--nonsense"]], [["token", "nonsense"]], [[]]])(
    "calls %j a wrong command line",
    async (argv) => {
      const { exitCode, out, err } = await runCommand(argv);
      expect(exitCode).toBe(EXIT.usage);
      expect(out).toEqual([]);
      expect(err.join("\n")).not.toBe("");
    },
  );
});

describe("hub", () => {
  it.each([
    [["--database", "mysql://db/carillon"], {}, "--database must be postgres://"],
    [["--database", "postgres://carillon:secret@db/carillon"], {}, "--database must not contain a password"],
    [["--database", "postgres://carillon@db/carillon?password=secret"], {}, "--database must not contain a password"],
    [[], { CARILLON_DATABASE: "nonsense" }, "CARILLON_DATABASE must be postgres://"],
    [["--restored"], {}, "--organisation and --restored need a database"],
    [["--all-organisations"], {}, "--all-organisations needs a database"],
    [
      ["--all-organisations", "--organisation", "a"],
      {},
      "--organisation and --restored conflict with --all-organisations",
    ],
  ])("rejects %j %j before it starts", async (more, env, words) => {
    const { exitCode, err } = await runCommand(["hub", "--data", join(makeTempDir(), "none"), ...more], env);
    expect([exitCode, err.join("\n")]).toEqual([EXIT.usage, expect.stringContaining(words)]);
    expect(err.join("\n")).not.toContain("secret");
  });
});

describe("init and token", () => {
  const init = (data: string, ...more: string[]) =>
    runCommand(["init", "--data", data, "--admin-email", "admin@example.org", ...more]);

  it("create an appliance and tokens", async () => {
    const data = join(makeTempDir(), "data");
    const made = await init(data, "--admin-password", PASSWORD, "--json");
    expect([made.exitCode, made.err, made.out.length]).toEqual([EXIT.ok, [], 1]);
    const first = JSON.parse(made.out[0] as string);
    const names = ["userId", "token", "providerId", "extensionId", "endpointId", "domainId"];
    expect(Object.keys(first)).toEqual(names);

    const created = await runCommand(["token", "create", "--data", data, "--user", first.userId, "--name", "x"]);
    expect(created.out).toEqual([expect.stringMatching(/^carillon_\S+$/)]);
    const listed = await runCommand(["token", "list", "--data", data]);
    expect(listed.out).toHaveLength(2);
    const tokenId = listed.out[1]?.split(" ")[0] as string;
    expect((await runCommand(["token", "revoke", tokenId, "--data", data])).exitCode).toBe(EXIT.ok);
    expect((await runCommand(["token", "revoke", tokenId, "--data", data])).exitCode).toBe(EXIT.failure);
  });

  it("take the password from the environment, and print a table", async () => {
    const data = makeTempDir();
    const argv = ["init", "--data", data, "--admin-email", "admin@example.org"];
    const { exitCode, out } = await runCommand(argv, { CARILLON_ADMIN_PASSWORD: PASSWORD });
    expect(exitCode).toBe(EXIT.ok);
    expect(out.map((line) => line.split(" ")[0])).toContain("token");
  });

  it("obey the password length of the settings", async () => {
    const folder = makeTempDir();
    const [data, config] = [join(folder, "data"), join(folder, "carillon.yaml")];
    writeFileSync(config, "auth: {passwordMinLength: 40}\n");
    const short = await init(data, "--admin-password", PASSWORD, "--config", config);
    expect([short.exitCode, short.err.join()]).toEqual([EXIT.usage, expect.stringContaining("40")]);
    writeFileSync(config, "auth: {passwordMinLength: forty}\n");
    expect((await init(data, "--admin-password", PASSWORD, "--config", config)).exitCode).toBe(EXIT.settings);
  });

  it("report problems of the data directory", async () => {
    const data = makeTempDir();
    expect((await runCommand(["token", "list", "--data", data])).exitCode).toBe(EXIT.dataDirectory);
    await init(data, "--admin-password", PASSWORD);
    const again = await init(data, "--admin-password", PASSWORD);
    expect(again.exitCode).toBe(EXIT.dataDirectory);
    expect(again.err.join("\n")).toContain("already set up");
    const file = join(data, "a-file");
    writeFileSync(file, "");
    const inFile = await init(file, "--admin-password", PASSWORD);
    expect([inFile.exitCode, inFile.err.join()]).toEqual([
      EXIT.dataDirectory,
      expect.stringContaining("must be a folder"),
    ]);
  });

  it("prompt twice for a missing password", async () => {
    const data = makeTempDir();
    const argv = ["init", "--data", data, "--admin-email", "admin@example.org"];
    expect(await runCommand(argv)).toMatchObject({ exitCode: EXIT.usage, out: [] });
    const differing = await runCommand(argv, {}, [PASSWORD, `${PASSWORD}!`]);
    expect([differing.exitCode, differing.err.join()]).toEqual([EXIT.usage, expect.stringContaining("differ")]);
    expect(await runCommand(argv, {}, [PASSWORD, PASSWORD])).toMatchObject({ exitCode: EXIT.ok });
    const unlock = ["user", "unlock", "--data", data, "--user", "admin@example.org", "--password"];
    expect(await runCommand(unlock)).toMatchObject({ exitCode: EXIT.usage });
    expect(await runCommand(unlock, {}, ["a new tangerine lamp", "a new tangerine lamp"])).toMatchObject({
      exitCode: EXIT.ok,
    });
  });

  it("do not prompt if the appliance is already set up", async () => {
    const data = makeTempDir();
    await init(data, "--admin-password", PASSWORD);
    const answers = [PASSWORD, PASSWORD];
    const again = await runCommand(["init", "--data", data, "--admin-email", "a@example.org"], {}, answers);
    expect([again.exitCode, again.err.join(), answers.length]).toEqual([
      ...[EXIT.dataDirectory, expect.stringContaining("already set up"), 2],
    ]);
  });

  it("reject a short password without printing it", async () => {
    const { exitCode, err } = await init(makeTempDir(), "--admin-password", "hunter2");
    expect(exitCode).toBe(EXIT.usage);
    expect(err.join("\n")).toContain("--admin-password is not valid");
    expect(err.join("\n")).not.toContain("hunter2");
  });
});

describe("upgrades", () => {
  it("create the signing key once", async () => {
    const file = join(makeTempDir(), "maker.pem");
    const [made, known] = [await runCommand(["upgrade-key", file]), await runCommand(["upgrade-key", file])];
    expect(Buffer.from(made.out.join(), "base64")).toHaveLength(32);
    expect([known.out, statSync(file).mode & 0o777]).toEqual([made.out, 0o600]);
  });

  it("report missing files before they start", async () => {
    const folder = makeTempDir();
    const pack = await runCommand(["upgrade-pack", folder, "--key", "maker.pem", "--to", join(folder, "new.tgz")]);
    expect([pack.exitCode, pack.err.join()]).toEqual([EXIT.usage, expect.stringContaining("package.json is missing")]);
    const install = await runCommand(["upgrade", "new.tgz", "--data", folder]);
    expect([install.exitCode, install.err.join()]).toEqual([EXIT.usage, expect.stringContaining("--config")]);
  });
});

describe("settings", () => {
  it("are checked, shown and described by a schema", async () => {
    const file = join(makeTempDir(), "carillon.yaml");
    writeFileSync(file, "audio: {ttl: 3}\n");
    expect(await runCommand(["settings", "check", file])).toMatchObject({ exitCode: EXIT.ok });
    const shown = await runCommand(["settings", "show", file]);
    expect(JSON.parse(shown.out.join("\n"))).toMatchObject({ audio: { ttl: 3 }, listen: "127.0.0.1:8080" });
    const schema = await runCommand(["settings", "schema"]);
    expect(JSON.parse(schema.out.join("\n"))).toEqual(settingsJsonSchema());
  });

  it("exit with their own code if they are invalid", async () => {
    const file = join(makeTempDir(), "carillon.yaml");
    writeFileSync(file, "audio: {ttl: 0}\n");
    for (const argv of [
      ["settings", "check", file],
      ["settings", "show", `${file}.missing`],
      ["serve", "--data", "data", "--config", file],
    ]) {
      expect(await runCommand(argv)).toMatchObject({ exitCode: EXIT.settings, out: [] });
    }
    const { err } = await runCommand(["settings", "check", file]);
    expect(err.join("\n")).toContain("audio.ttl: must be at least 1");
    writeFileSync(file, "listn: 1\nlog: {level: loud}\n");
    const { err: two } = await runCommand(["settings", "check", file]);
    expect(two.join("\n")).toContain("\n  listn: unknown setting; must be one of listen, log, ");
    expect(two.join("\n")).toContain("log.level: must be one of trace, debug");
  });

  it("are invalid if they name an unknown plugin or port", async () => {
    const file = join(makeTempDir(), "carillon.yaml");
    const listen = "listen: {auht: {port: 8081}}";
    writeFileSync(file, `plugins: {ip-phnes: {}, ip-phones: {${listen}}, multicast-zones: {${listen}}}\n`);
    const { exitCode, out, err } = await runCommand(["settings", "check", file]);
    expect([exitCode, out]).toEqual([EXIT.settings, []]);
    expect(err[0]).toMatch(/plugins\.ip-phnes: unknown plugin; available: .*ip-phones, .*multicast-zones, .*sip, sms/);
    expect(err[0]).toContain("plugins.ip-phones.listen.auht: unknown port; available: auth");
    expect(err[0]).toContain("plugins.multicast-zones.listen.auht: unknown port; available: none");
    const example = fileURLToPath(new URL("../../../config/carillon.example.yaml", import.meta.url));
    expect(await runCommand(["settings", "check", example])).toMatchObject({ exitCode: EXIT.ok });
  });
});
