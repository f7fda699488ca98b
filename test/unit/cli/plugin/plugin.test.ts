import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create } from "tar";
import { describe, expect, it, onTestFinished } from "vitest";
import { EXIT } from "../../../../src/lib/exit-codes.ts";
import { LOOPBACK_SETTINGS } from "../../../support/carillon-process.ts";
import { startTestDaemon } from "../../../support/daemon.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { runCommand } from "../run-command.ts";

async function makeLamp(): Promise<string> {
  const folder = join(makeTempDir(), "lamp");
  expect((await runCommand(["plugin", "new", folder])).exitCode).toBe(EXIT.ok);
  return folder;
}

/** Changes one file of a plugin. */
function edit(folder: string, file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(join(folder, file), "utf8");
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  writeFileSync(join(folder, file), changed);
}

const STEPS = ["plugin.json", "claims", "sources", "sentences", "configuration", "README.md", "start and stop"];

describe("plugin new and check", () => {
  it("creates a plugin that passes all checks, and rejects a folder that is not empty or has an invalid name", async () => {
    const folder = await makeLamp();
    const { exitCode, err, out } = await runCommand(["plugin", "check", folder]);
    expect(err).toEqual([...STEPS, "proof against a mute peer"].map((step) => `ok   ${step}`));
    expect([exitCode, out[0]]).toEqual([EXIT.ok, expect.stringContaining("plugin install")]);
    expect((await runCommand(["plugin", "new", folder])).exitCode).toBe(EXIT.usage);
    expect((await runCommand(["plugin", "new", join(folder, "Big Lamp")])).exitCode).toBe(EXIT.usage);
    expect((await runCommand(["plugin", "check", join(folder, "none")])).exitCode).toBe(EXIT.usage);
  });

  it.each([
    ["a member that nobody knows", "plugin.json", '"window"', '"windows": 1, "window"', "windows is unknown."],
    [
      "a claim of another plugin",
      "plugin.json",
      /"type": "plugins",\s*"identifier": "[^"]*"/,
      '"type": "phones", "identifier": "^SEP"',
      "ip-phones already claims phones ^SEP.",
    ],
    ["code that can't be read", "index.ts", "export default", "export default export", "Compilation failed"],
    [
      "a file of somebody else",
      "index.ts",
      "./config.ts",
      "../lamp/../other/config.ts",
      "a plugin must import only its own files",
    ],
    [
      "a package that it does not name",
      "index.ts",
      "import config",
      'import "koa";\nimport config',
      "index.ts imports koa: plugin.json does not list this package.",
    ],
    [
      "a configuration that reads files",
      "config.ts",
      "import",
      'import "node:fs";\nimport',
      "config.ts must contain nothing but fields",
    ],
    ["a secret in the open", "config.ts", 'secret("Bearer', 'integer("Bearer', "token must be a secret field."],
    ["a setting without a word in the README", "README.md", /`timeoutMs`/, "It", "README.md must explain timeoutMs."],
    [
      "a start that fails",
      "index.ts",
      'ctx.status("ok")',
      'throw new Error("no lamp")',
      "The plugin failed to start: no lamp.",
    ],
    [
      "something left open",
      "index.ts",
      'ctx.status("ok")',
      "globalThis.setInterval(() => {}, 1000)",
      "The plugin failed to stop: open handles remain.",
    ],
    [
      "a claim that was never proven",
      "index.ts",
      'return ctx.outcome(deliveryId, "accepted");',
      'for (const level of ["accepted", "heard"] as const) ctx.outcome(deliveryId, level);',
      "The plugin reported heard, which a mute peer does not prove.",
    ],
    ["no peer", "peer.ts", /^[\s\S]*$/, "", "peer.ts is missing"],
  ])("reports %s", async (_name, file, from, to, words) => {
    const folder = await makeLamp();
    edit(folder, file, from, to);
    const { exitCode, err } = await runCommand(["plugin", "check", folder]);
    expect([exitCode, err.join("\n")]).toEqual([EXIT.failure, expect.stringContaining(words)]);
  });
});

it("takes no links from the folder of a plugin, which could lead to secrets of the machine", async () => {
  const folder = await makeLamp();
  const secret = join(makeTempDir(), "secret");
  writeFileSync(secret, "secret");
  symlinkSync(secret, join(folder, "sound.wav"));
  const { exitCode, err } = await runCommand(["plugin", "check", folder]);
  expect([exitCode, err.join()]).toEqual([EXIT.failure, expect.stringContaining("sound.wav is a link.")]);
});

describe("plugin install, enable and disable", () => {
  it("installs a plugin in a running appliance, which delivers through it, and upgrades it", async () => {
    const lit: string[] = [];
    const lamp = createServer((request, response) => {
      request.on("data", (text: Buffer) => lit.push(`${request.headers.authorization} ${text}`));
      request.on("end", () => void response.writeHead(204).end());
    });
    await new Promise<void>((resolve) => lamp.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void lamp.close());
    const { port } = lamp.address() as AddressInfo;
    const daemon = await startTestDaemon();
    onTestFinished(() => daemon.stop());
    const { call, first, dataDir } = daemon;
    const folder = await makeLamp();
    const file = join(makeTempDir(), "lamp-0.1.0.tgz");
    await create({ gzip: true, file, cwd: join(folder, "..") }, ["lamp"]);

    const install = ["plugin", "install", file, "--data", dataDir];
    const asked = await runCommand([...install, "--unsigned"]);
    expect([asked.exitCode, asked.err.at(-1)]).toEqual([
      EXIT.failure,
      expect.stringContaining("Nothing was installed"),
    ]);
    expect(asked.err).toContain("  devices: plugins ^lamp:");
    const device = {
      type: "plugins",
      deviceIdentifier: "lamp:1",
      description: "Hall",
      attributes: { Url: `http://127.0.0.1:${port}/` },
    };
    const devices = `/extensions/${first.extensionId}/endpoints/${first.endpointId}/devices`;
    expect((await call("POST", devices, device)).status).toBe(400);

    const unsigned = await runCommand([...install, "--yes"]);
    expect([unsigned.exitCode, unsigned.err.at(-1)]).toEqual([EXIT.failure, expect.stringContaining("--unsigned")]);
    expect(unsigned.err).toContain("  connects to: what Url of its devices holds");
    expect((await runCommand([...install, "--yes", "--unsigned"])).exitCode).toBe(EXIT.ok);
    const made = await call<{ id: string }>("POST", devices, device);
    expect([made.status, made.body]).toEqual([200, expect.anything()]);
    const env = { CARILLON_URL: daemon.url, CARILLON_TOKEN: first.token };
    expect(await runCommand(["plugin", "enable", "lamp"], env)).toMatchObject({
      exitCode: EXIT.ok,
      out: ["lamp: running"],
    });
    expect((await runCommand(["plugin", "list"], env)).out.join("\n")).toContain(
      "lamp: running\n  0.1.0, unsigned; connects to what Url of its devices holds",
    );
    const audited = await call<{ data: { op: string; details: object }[] }>("GET", "/audit?op=trust-change");
    expect(JSON.stringify(audited.body.data)).toContain("The unsigned plugin lamp 0.1.0 was installed.");
    const [row] = (await call<{ data: { id: string; name: string }[] }>("GET", "/extensions?name=lamp")).body.data;
    await call("PUT", `/extensions/${row?.id}`, { config: { token: "let-me" } });
    const group = { name: "Lamps", filterType: "REJECT", additionIds: ["lamp:1"] };
    const { body: lamps } = await call<{ id: string }>("POST", "/device-groups", group);
    const setting = { id: row?.id, value: { colour: "green" } };
    expect((await call("POST", "/notification-profiles", { name: "Red", settings: [setting] })).status).toBe(400);
    const red = { name: "Red", settings: [{ ...setting, value: { colour: "red" } }] };
    const { body: profile } = await call<{ id: string }>("POST", "/notification-profiles", red);
    const { body: template } = await call<{ id: string }>("POST", "/message-templates", {
      name: "Light",
      subject: "Evacuate",
      deviceGroupIds: [lamps.id],
      notificationProfileId: profile.id,
    });
    const { body: sent } = await call<{ id: string }>("POST", "/notifications", { messageTemplateId: template.id });
    await expect
      .poll(() => lit)
      .toEqual([expect.stringMatching(/^Bearer let-me .*"subject":"Evacuate".*"colour":"red"/)]);
    await expect
      .poll(
        async () => (await call<{ data: { level: string }[] }>("GET", `/notifications/${sent.id}/devices`)).body.data,
      )
      .toMatchObject([{ level: "accepted" }]);

    edit(folder, "plugin.json", "0.1.0", "0.2.0");
    edit(folder, "index.ts", "ctx.status", 'ctx.status("degraded", "the second version");\n    if (1 > 2) ctx.status');
    expect((await runCommand(["plugin", "install", folder, "--data", dataDir, "--yes", "--unsigned"])).exitCode).toBe(
      EXIT.ok,
    );
    await expect
      .poll(async () => (await call("GET", `/extensions/${row?.id}`)).body.status)
      .toMatchObject({
        state: "running",
        reason: "the second version",
      });
    expect(await runCommand(["plugin", "disable", "lamp"], env)).toMatchObject({ exitCode: EXIT.ok });
    await daemon.stop();
    const again = await startTestDaemon({ after: daemon });
    onTestFinished(() => again.stop());
    expect((await again.call("GET", `/extensions/${row?.id}`)).body.status).toMatchObject({ state: "disabled" });
  });
});

describe("plugin keygen and sign", () => {
  it("make a package that appliances install by the publisher's key, and by no other", async () => {
    const work = makeTempDir();
    const [key, otherKey, file] = ["publisher.pem", "other.pem", "lamp.tgz"].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ];
    const publicKey = (await runCommand(["plugin", "keygen", key])).out[0] as string;
    expect((await runCommand(["plugin", "keygen", key])).out[0]).toBe(publicKey);
    const otherPublicKey = (await runCommand(["plugin", "keygen", otherKey])).out[0] as string;
    const sign = ["plugin", "sign", await makeLamp(), "--key", key, "--publisher", "Lamps Ltd", "--to", file];
    expect(await runCommand(sign)).toMatchObject({ exitCode: EXIT.ok, out: [`${file}: signed as Lamps Ltd`] });

    const settings = `${LOOPBACK_SETTINGS}trust: {plugins: ["${publicKey}"], unsignedPlugins: false}`;
    const daemon = await startTestDaemon({ settings });
    onTestFinished(() => daemon.stop());
    const configWith = (trusted: string): string => {
      const config = join(makeTempDir(), "carillon.yaml");
      writeFileSync(config, `trust: {plugins: ["${trusted}"], unsignedPlugins: false}\n`);
      return config;
    };
    const install = ["plugin", "install", file, "--data", daemon.dataDir, "--yes", "--config"];
    const foreign = await runCommand([...install, configWith(otherPublicKey)]);
    expect([foreign.exitCode, foreign.err.join()]).toEqual([EXIT.failure, expect.stringContaining("trusted key")]);
    const installed = await runCommand([...install, configWith(publicKey)]);
    expect(installed.err).toContain("  signed by: Lamps Ltd");
    expect(installed.exitCode).toBe(EXIT.ok);
    const env = { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token };
    expect((await runCommand(["plugin", "enable", "lamp"], env)).out).toEqual(["lamp: running"]);
    interface Shown {
      id: string;
      status: object;
    }
    const shownBy = async ({ call }: typeof daemon) =>
      (await call<{ data: [Shown] }>("GET", "/extensions?name=lamp")).body.data[0];
    const shown = () => shownBy(daemon);
    expect(await shown()).toMatchObject({
      installation: { version: "0.1.0", signedBy: "Lamps Ltd", hosts: [], deviceAttributes: ["Url"] },
    });

    const entry = join(daemon.dataDir, "plugins", "lamp", "index.js");
    writeFileSync(entry, `${readFileSync(entry, "utf8")}\n`);
    await daemon.call("POST", `/extensions/${(await shown()).id}/restart`);
    expect((await shown()).status).toMatchObject({ reason: expect.stringContaining("index.js") });
    await daemon.stop();
    const again = await startTestDaemon({ after: daemon, settings });
    onTestFinished(() => again.stop());
    expect((await shownBy(again)).status).toMatchObject({
      state: "absent",
      reason: expect.stringContaining("index.js"),
    });
  });
});
