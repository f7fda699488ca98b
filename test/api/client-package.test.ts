import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { npmCommand } from "../../.ci/setup/npm.mjs";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

const run = promisify(execFile);

async function npm(folder: string, ...given: string[]): Promise<string> {
  const { command, first, env } = npmCommand();
  const quiet = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const cache = { npm_config_cache: join(folder, ".cache"), npm_config_update_notifier: "false" };
  const options = { cwd: folder, env: { ...process.env, ...env, ...cache } };
  return (await run(command, [...first, ...given, ...quiet], options)).stdout;
}

/** Folder of an installed package, whose manifest need not be exported. */
function folderOf(name: string, from = import.meta.url): string {
  const entry = createRequire(from).resolve(name);
  return `${entry.slice(0, entry.lastIndexOf(`node_modules/${name}`))}node_modules/${name}`;
}

it("the typed client is packed, installed without a network and used", async () => {
  const folder = makeTempDir();
  const fetchFolder = folderOf("openapi-fetch");
  const helpers = join(dirname(fetchFolder), "openapi-typescript-helpers");
  const packages: string[] = [];
  for (const source of [join(process.cwd(), "dist/client"), fetchFolder, helpers]) {
    const packed = JSON.parse(await npm(folder, "pack", source, "--json")) as { filename: string }[];
    packages.push(...packed.map(({ filename }) => `./${filename}`));
  }
  const project = join(folder, "school");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "school", private: true, type: "module" }));
  await npm(project, "install", ...packages.map((each) => join("..", each)));

  const script = `
    import { createCarillonClient } from "carillon-client";
    const [url, token] = process.argv.slice(2);
    const carillon = createCarillonClient({ url, token });
    const made = await carillon.POST("/v1/distribution-lists", { body: { name: "Staff" } });
    const user = await carillon.POST("/v1/users", { body: { name: "Ann", email: "ann@package.example.org", type: "regular" } });
    const params = { path: { userId: user.data.id } };
    await carillon.POST("/v1/users/{userId}/subscriptions", { params, body: { distributionListId: made.data.id } });
    const sent = await carillon.POST("/v1/notifications", { body: { subject: "Drill", distributionListIds: [made.data.id] } });
    const refused = await carillon.POST("/v1/users", { body: { name: "" } });
    console.log(JSON.stringify([sent.data.recipientCount, refused.response.status, refused.error.errors[0].field]));
  `;
  writeFileSync(join(project, "use.js"), script);
  const { stdout } = await run(process.execPath, ["use.js", daemon.url, daemon.first.token], { cwd: project });
  expect(JSON.parse(stdout)).toEqual([1, 400, "name"]);
}, 120_000);
