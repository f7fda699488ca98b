import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { npmCommand } from "../../../.ci/setup/npm.mjs";
import { nodeFits, sideNode } from "../../../.ci/setup/runtime.mjs";
import { root } from "../../../.ci/setup/tree.mjs";
import { nodeVersionError } from "../../../src/lib/node-version.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const PLATFORM = `${process.platform}-${process.arch}`;

/** A clone whose lock wants Node `version`, and whose npm "installs" the Node that runs this test. */
function makeClone({ version = process.versions.node, platform = PLATFORM, works = true } = {}): string {
  const folder = makeTempDir();
  const side = join(folder, ".ci/node");
  mkdirSync(side, { recursive: true });
  const packages = { [`node_modules/node-${platform}`]: { version } };
  writeFileSync(join(side, "package-lock.json"), JSON.stringify({ packages }));
  const npm = join(folder, "npm.js");
  const bin = `node_modules/node-${PLATFORM}/bin`;
  const brings = `fs.mkdirSync("${bin}", { recursive: true }); fs.symlinkSync(process.execPath, "${bin}/node");`;
  const record = `fs.appendFileSync(${JSON.stringify(join(folder, "calls"))}, process.argv.slice(2).join(" ") + "\\n");`;
  writeFileSync(npm, `const fs = require("fs"); ${record} ${works ? brings : "process.exit(1);"}`);
  vi.stubEnv("npm_execpath", npm);
  return folder;
}

describe("Node of the set-up", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  it("is the machine's from Node 22.13 on, as package.json, set-up and daemon agree", () => {
    const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(engines.node).toBe("^22.13 || >=24");
    for (const [version, fits] of [
      ["18.20.8", false],
      ["20.20.2", false],
      ["22.12.0", false],
      ["22.13.0", true],
      ["23.11.0", false],
      ["24.0.0", true],
      ["26.10.0", true],
    ] as const) {
      expect(nodeFits(version)).toBe(fits);
      expect(nodeVersionError(version) === null).toBe(fits);
    }
  });

  it("is locked for both architectures, with hashes and without a registry", () => {
    const { packages } = JSON.parse(readFileSync(join(root, ".ci/node/package-lock.json"), "utf8"));
    for (const architecture of ["x64", "arm64"]) {
      const entry = packages[`node_modules/node-linux-${architecture}`];
      expect(entry).toMatchObject({ version: /^24\./.exec(entry.version)?.input, os: "linux", cpu: architecture });
      expect(entry.integrity).toMatch(/^sha512-/);
      expect(entry.resolved).toBeUndefined();
    }
  });

  it("is installed once, by npm ci without scripts", () => {
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const folder = makeClone();
    const node = sideNode(folder);
    expect(node).toBe(join(folder, `.ci/node/node_modules/node-${PLATFORM}/bin/node`));
    expect(sideNode(folder)).toBe(node);
    expect(readFileSync(join(folder, "calls"), "utf8")).toMatch(/^ci .*--ignore-scripts.*\n$/);
  });

  it("is missing, with the reason, if npm fails, the binary does not run, or none exists for the machine", () => {
    const words = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(sideNode(makeClone({ works: false }))).toBeNull();
    expect(words.mock.calls.join("")).toContain("npm could not install Node");
    expect(sideNode(makeClone({ version: "0.0.1" }))).toBeNull();
    expect(words.mock.calls.join("")).toContain("Node 0.0.1 does not run on this machine");
    expect(sideNode(makeClone({ platform: "linux-vax" }))).toBeNull();
    expect(words.mock.calls.join("")).toContain("install Node 24");
  });

  it("runs the npm that is first in PATH, but leaves Debian's to Debian's own Node", () => {
    const folder = makeTempDir();
    writeFileSync(join(folder, "npm-cli.js"), "");
    symlinkSync(join(folder, "npm-cli.js"), join(folder, "npm"));
    vi.stubEnv("npm_execpath", undefined);
    vi.stubEnv("PATH", folder);
    expect(npmCommand()).toMatchObject({ command: process.execPath, first: [join(folder, "npm-cli.js")] });
    vi.stubEnv("npm_execpath", "/usr/share/nodejs/npm/bin/npm-cli.js");
    expect(npmCommand()).toEqual({ command: "npm", first: [], env: { npm_config_engine_strict: "false" } });
  });
});
