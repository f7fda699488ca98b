import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { install, installed } from "../../../.ci/setup/install.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

const LOCK = {
  packages: { "": {}, "node_modules/a": { version: "1.0.0" }, "node_modules/o": { version: "1.0.0", optional: true } },
};

const NATIVE_LOCK = { packages: { "": {}, "node_modules/better-sqlite3": { version: "1.0.0" } } };

/** A folder whose npm writes down how it was called and ends with `status`. */
function makeFolder(packages: object | null, status = 0): string {
  const folder = makeTempDir();
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(LOCK));
  if (packages) writeFileSync(join(folder, "node_modules/.package-lock.json"), JSON.stringify({ packages }));
  const npm = join(folder, "npm.js");
  const record = JSON.stringify(join(folder, "calls"));
  writeFileSync(
    npm,
    `require("fs").appendFileSync(${record}, process.argv.slice(2).join(" ") + "\\n"); process.exit(${status});`,
  );
  vi.stubEnv("npm_execpath", npm);
  return folder;
}

function calls(folder: string): string {
  try {
    return readFileSync(join(folder, "calls"), "utf8");
  } catch {
    return "";
  }
}

describe("install", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  it("runs npm ci on a fresh clone, once", () => {
    const folder = makeFolder(null);
    expect(installed(folder)).toBe(false);
    expect(install(folder)).toBe(true);
    expect(calls(folder)).toMatch(/^ci .*\n$/);
    expect(installed(folder)).toBe(true);
  });

  it("runs npm ci again when the lock has changed", () => {
    const folder = makeFolder({ "node_modules/a": { version: "0.9.0" } });
    install(folder);
    writeFileSync(
      join(folder, "package-lock.json"),
      JSON.stringify({ packages: { "node_modules/a": { version: "2.0.0" } } }),
    );
    expect(installed(folder)).toBe(false);
    install(folder);
    expect(calls(folder).split("\n")).toHaveLength(3);
  });

  it("takes over what `npm install` has brought, without the optional packages of other systems", () => {
    const folder = makeFolder({ "node_modules/a": { version: "1.0.0" } });
    expect(install(folder)).toBe(true);
    expect(calls(folder)).toBe("");
    expect(installed(folder)).toBe(true);
  });

  it("installs again for another platform, whose native modules differ", () => {
    const folder = makeFolder({ "node_modules/a": { version: "1.0.0" } });
    install(folder);
    const stamp = join(folder, "node_modules/.carillon-lock");
    writeFileSync(stamp, readFileSync(stamp, "utf8").replace(/ .*\n$/, " linux-riscv64\n"));
    expect(installed(folder)).toBe(false);
    install(folder);
    expect(calls(folder)).toMatch(/^ci /);
  });

  it("keeps a linked package folder", () => {
    const folder = makeFolder({ "node_modules/a": { version: "0.9.0" } });
    renameSync(join(folder, "node_modules"), join(folder, "theirs"));
    symlinkSync(join(folder, "theirs"), join(folder, "node_modules"));
    expect(install(folder)).toBe(false);
    expect(calls(folder)).toBe("");
  });

  it("says so when npm fails, and is not done", () => {
    const folder = makeFolder(null, 1);
    expect(install(folder)).toBe(false);
    expect(installed(folder)).toBe(false);
  });

  it("fails when a native module does not load", () => {
    const folder = makeFolder(null);
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(NATIVE_LOCK));
    const words = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(install(folder)).toBe(false);
    expect(words.mock.calls.join("")).toMatch(/better-sqlite3 does not load on Node [^:]+: Error: Cannot find module/);
    expect(installed(folder)).toBe(false);
  });

  it("tries a native module once, and accepts one that loads", () => {
    const folder = makeFolder(null);
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(NATIVE_LOCK));
    mkdirSync(join(folder, "node_modules/better-sqlite3"));
    const module = "module.exports = class { constructor(file) { this.file = file; } close() {} };";
    writeFileSync(join(folder, "node_modules/better-sqlite3/index.js"), module);
    expect(install(folder)).toBe(true);
    expect(installed(folder)).toBe(true);
  });

  it("replaces packages of the right versions whose native module does not load", () => {
    const folder = makeFolder({ "node_modules/better-sqlite3": { version: "1.0.0" } });
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(NATIVE_LOCK));
    expect(install(folder)).toBe(false);
    expect(calls(folder)).toMatch(/^ci /);
  });
});
