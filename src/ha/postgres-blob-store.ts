import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PostgresConnection } from "./postgres-connection.ts";

/** The files of an organisation, shared between its nodes. */
export interface PostgresBlobStore {
  /** Uploads a file unless it exists. Throws UpstreamError. */
  put(sha256: string, path: string): Promise<void>;
  /** Uploads those of the files that exist in the node's folder; `each` reports progress. Throws UpstreamError. */
  putLocal(sha256s: Iterable<string>, each?: TransferProgress): Promise<void>;
  /** Downloads files that are missing in the node's folder; `each` reports progress. Throws UpstreamError. */
  fetchMissing(each?: TransferProgress): Promise<void>;
}

/** Progress: `done` of `of` files. */
export type TransferProgress = (done: number, of: number) => void;

/** Bytes per row. @source docs/decisions/0304-postgres-high-availability.md */
const PART_BYTES = 1024 * 1024;

/** `dir` has the layout of the store. */
export function createPostgresBlobStore(deps: {
  connection: PostgresConnection;
  organisation: number;
  dir: string;
}): PostgresBlobStore {
  const { connection, organisation, dir } = deps;
  const kept = new Set<string>();
  const pathOf = (sha256: string): string => join(dir, sha256.slice(0, 2), sha256);

  async function put(sha256: string, path: string): Promise<void> {
    if (kept.has(sha256)) return;
    const [found] = await connection.query<{ whole: boolean }>(
      `SELECT count(*) > 0 AND count(*) = max(parts) AS whole FROM carillon_files WHERE organisation = $1 AND sha256 = $2`,
      [organisation, sha256],
    );
    if (!found?.whole) await upload(sha256, path);
    kept.add(sha256);
  }

  async function upload(sha256: string, path: string): Promise<void> {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const parts = Math.max(1, Math.ceil(size / PART_BYTES));
      for (let part = 0; part < parts; part += 1) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, part * PART_BYTES);
        await connection.query("INSERT INTO carillon_files VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING", [
          ...[organisation, sha256, part, parts],
          buffer.subarray(0, bytesRead),
        ]);
      }
    } finally {
      await file.close();
    }
  }

  async function download(sha256: string, parts: number): Promise<void> {
    await mkdir(dirname(pathOf(sha256)), { recursive: true, mode: 0o700 });
    const arriving = join(dir, `arriving-${sha256}`);
    const file = await open(arriving, "w", 0o600);
    const hash = createHash("sha256");
    try {
      for (let part = 0; part < parts; part += 1) {
        const [found] = await connection.query<{ bytes: Buffer }>(
          "SELECT bytes FROM carillon_files WHERE organisation = $1 AND sha256 = $2 AND part = $3",
          [organisation, sha256, part],
        );
        if (!found) return;
        hash.update(found.bytes);
        await file.write(found.bytes);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (hash.digest("hex") === sha256) await rename(arriving, pathOf(sha256));
  }

  return {
    put,
    async putLocal(sha256s, each) {
      const here = [...sha256s].filter((sha256) => !kept.has(sha256) && existsSync(pathOf(sha256)));
      for (const [at, sha256] of here.entries()) {
        await put(sha256, pathOf(sha256));
        each?.(at + 1, here.length);
      }
    },
    async fetchMissing(each) {
      const all = await connection.query<{ sha256: string; parts: number }>(
        "SELECT sha256, max(parts) AS parts FROM carillon_files WHERE organisation = $1 GROUP BY sha256 HAVING count(*) = max(parts)",
        [organisation],
      );
      const missing = all.filter(({ sha256 }) => !kept.has(sha256));
      for (const [at, { sha256, parts }] of missing.entries()) {
        if (!existsSync(pathOf(sha256))) await download(sha256, parts);
        if (existsSync(pathOf(sha256))) kept.add(sha256);
        each?.(at + 1, missing.length);
      }
    },
  };
}
