import { createReadStream, createWriteStream, existsSync, readdirSync, rmSync } from "node:fs";
import { mkdir, rename, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { create } from "tar";
import { newId } from "../../lib/ids.ts";
import { removeFolder } from "../backup/backup-archive.ts";
import { logFilePaths } from "./log-files.ts";
import { maskSecrets } from "./secret-masking.ts";

/** JSON files of a bundle by name, beside the log; without secrets. */
export type LogBundleParts = Readonly<Record<string, unknown>>;

/** Bundles that are kept. */
const MAX_BUNDLES = 5;

export function logBundleName(now: number): string {
  return `carillon-logs-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "")}Z.tar.gz`;
}

/** Packs the log, secrets masked, and `parts` into one .tar.gz for support. */
export async function collectLogs(dataDir: string, target: string, parts: LogBundleParts): Promise<{ bytes: number }> {
  const stage = join(dirname(target), `.working-${newId()}`);
  await mkdir(stage, { recursive: true, mode: 0o700 });
  try {
    for (const path of logFilePaths(dataDir)) if (existsSync(path)) await copyMasked(path, join(stage, basename(path)));
    for (const [name, part] of Object.entries(parts))
      await writeFile(join(stage, `${name}.json`), maskSecrets(JSON.stringify(part, null, 2)));
    const archive = join(stage, ".archive");
    const packing = create({ cwd: stage, gzip: true, portable: true }, readdirSync(stage));
    await pipeline(packing, createWriteStream(archive, { mode: 0o600, flush: true }));
    await rename(archive, target);
    return { bytes: (await stat(target)).size };
  } finally {
    await removeFolder(stage);
  }
}

/** Deletes all bundles in `folder` but the newest ones. */
export function pruneLogBundles(folder: string): void {
  const names = readdirSync(folder).filter((name) => name.startsWith("carillon-logs-"));
  for (const name of names.sort().reverse().slice(MAX_BUNDLES)) rmSync(join(folder, name), { force: true });
}

async function copyMasked(from: string, to: string): Promise<void> {
  const lines = createInterface({ input: createReadStream(from, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
  await pipeline(
    async function* () {
      for await (const line of lines) yield `${maskSecrets(line)}\n`;
    },
    createWriteStream(to, { mode: 0o600 }),
  );
}
