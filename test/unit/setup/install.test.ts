import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { headersBeside, install, installed } from "../../../.ci/setup/install.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

const LOCK = {
  packages: { "": {}, "node_modules/a": { version: "1.0.0" }, "node_modules/o": { version: "1.0.0", optional: true } },
};

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
  afterEach(() => void vi.unstubAllEnvs());

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

  it("installs anew for another Node, whose native modules differ", () => {
    const folder = makeFolder({ "node_modules/a": { version: "1.0.0" } });
    install(folder);
    const stamp = join(folder, "node_modules/.carillon-lock");
    writeFileSync(stamp, readFileSync(stamp, "utf8").replace(/-\d+\n$/, "-99\n"));
    expect(installed(folder)).toBe(false);
    install(folder);
    expect(calls(folder)).toMatch(/^ci /);
  });

  it("does not empty a folder of packages that is only linked to", () => {
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

  it("builds by the headers beside Node, unless they are those of another one", () => {
    const folder = makeTempDir();
    const node = join(folder, "bin/node");
    expect(headersBeside(node)).toEqual({});
    mkdirSync(join(folder, "include/node"), { recursive: true });
    const header = join(folder, "include/node/node_version.h");
    writeFileSync(header, `#define NODE_MODULE_VERSION ${process.versions.modules}\n`);
    expect(headersBeside(node)).toEqual({ npm_config_nodedir: folder });
    writeFileSync(header, "#define NODE_MODULE_VERSION 1\n");
    expect(headersBeside(node)).toEqual({});
  });
});
