import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** Writes the URL of every file that the process loads as a module to the file named by LOADED. */
const RECORDER = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { appendFileSync } from "node:fs";
  registerHooks({ load(url, context, next) {
    if (url.startsWith("file:")) appendFileSync(process.env.LOADED, url + "\\n");
    return next(url, context);
  } });
`)}`;

/** The sources and packages whose code a run of the built command line loads. */
function loadedBy(...args: string[]): { sources: string[]; packages: string[]; status: number | null } {
  const list = join(makeTempDir(), "loaded");
  const main = join(REPOSITORY_ROOT, "dist/src/main.js");
  const env = { ...process.env, LOADED: list, CARILLON_TOKEN: "none" };
  const { status } = spawnSync(process.execPath, ["--import", RECORDER, main, ...args], { env, timeout: 120_000 });
  const files = readFileSync(list, "utf8").trim().split("\n");
  const sources = files.flatMap((url) => sourcesOf(fileURLToPath(url)));
  const packages = sources.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
  return { sources, packages: [...new Set(packages)].sort(), status };
}

/** The bundle's chunks say in their maps what they are made of; a chunk without a map holds none of our code. */
function sourcesOf(file: string): string[] {
  if (!file.startsWith(join(REPOSITORY_ROOT, "dist/"))) return [relative(REPOSITORY_ROOT, file)];
  if (!existsSync(`${file}.map`)) return [];
  const { sources } = JSON.parse(readFileSync(`${file}.map`, "utf8")) as { sources: string[] };
  return sources.map((source) => relative(REPOSITORY_ROOT, resolve(file, "..", source)));
}

/** What only the daemon and a few commands need, and what takes long to load. */
const HEAVY =
  /^src\/(wiring\/(daemon|appliance-data)|store\/open-store|settings\/schema|http\/)|^src\/resources\/.*\/users\.ts/;

describe("imports of the command line", () => {
  it.each([
    [["--help"]],
    [["--version"]],
    [["serve", "--help"]],
    [["nonsense"]],
    [["token", "list", "--data", "/nonexistent"]],
    [["alarms", "list", "--url", "http://127.0.0.1:1"]],
  ])("loads little for %j", (args) => {
    const { sources, packages } = loadedBy(...args);
    expect(packages.filter((name) => !["commander", "uuid"].includes(name))).toEqual([]);
    expect(sources.filter((file) => HEAVY.test(file))).toEqual([]);
    expect(sources).toContain("src/cli/program.ts");
  });

  it("loads what a command needs when it runs", () => {
    const { sources, packages, status } = loadedBy("settings", "schema");
    expect([status, packages.includes("zod"), sources.includes("src/settings/schema.ts")]).toEqual([0, true, true]);
  });
});
