import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CallerError, UpstreamError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { StoredFile } from "../schema/field.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import { detectFileKind } from "./file-kind.ts";
import type { FileStore } from "./store.ts";

const HEAD_BYTES = 65_536;
/** Begins the names of files that have not arrived whole. */
const ARRIVING = "arriving-";

/**
 * Files under DIR/files/<first two hex digits>/<sha256>; client names are kept as text only. What was arriving when an
 * earlier process ended is removed, so there may be one store of a folder at a time.
 */
export function createFileStore(dataDir: string): FileStore {
  const root = join(dataDir, "files");
  removeUnfinished(root);
  const pathOf = (file: StoredFile): string => join(root, file.sha256.slice(0, 2), file.sha256);
  /** By content, while somebody has stored it and not yet said whether a row took it. */
  const holds = new Map<string, { times: number; isNew: boolean; kept: boolean }>();
  const hold = (file: StoredFile): void => {
    const held = holds.get(file.sha256) ?? { times: 0, isNew: !existsSync(pathOf(file)), kept: false };
    held.times += 1;
    holds.set(file.sha256, held);
  };
  // Without await, so that nobody can store the same content in between.
  const release: FileStore["release"] = ({ file }, kept) => {
    const held = holds.get(file.sha256);
    if (!held) return;
    held.times -= 1;
    held.kept ||= kept;
    if (held.times > 0) return;
    holds.delete(file.sha256);
    if (held.isNew && !held.kept) rmSync(pathOf(file), { force: true });
  };
  return {
    pathOf,
    release,
    read: (file) => readFile(pathOf(file)),
    async put(bytes, { fileName, maxBytes, types }) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const arriving = join(root, `${ARRIVING}${newId()}`);
      try {
        const { sha256, size, head } = await receive(bytes, arriving, maxBytes);
        const kind = detectFileKind(head);
        if (!types.includes("*/*") && !types.includes(kind.contentType)) {
          throw new CallerError(
            "unsupported-media-type",
            `The file is ${kind.contentType}; send one of ${types.join(", ")}.`,
          );
        }
        const file: StoredFile = { sha256, size, fileName: displayName(fileName), ...kind };
        const upload = new UploadedFile(file);
        hold(file);
        try {
          await settle(arriving, pathOf(file));
        } catch (error) {
          release(upload, false);
          throw error;
        }
        return upload;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        throw new UpstreamError("storage-full", "The disk is full.", {}, error);
      } finally {
        await rm(arriving, { force: true });
      }
    },
  };
}

function removeUnfinished(root: string): void {
  if (!existsSync(root)) return;
  for (const name of readdirSync(root)) if (name.startsWith(ARRIVING)) rmSync(join(root, name), { force: true });
}

async function receive(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
): Promise<{ sha256: string; size: number; head: Uint8Array }> {
  const hash = createHash("sha256");
  const head: Uint8Array[] = [];
  let size = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of bytes) {
      if (size < HEAD_BYTES) head.push(chunk.subarray(0, HEAD_BYTES - size));
      size += chunk.length;
      if (size > maxBytes) throw new CallerError("too-large", `The file is larger than ${maxBytes} bytes.`);
      hash.update(chunk);
      await file.write(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest("hex"), size, head: Buffer.concat(head) };
}

/** Gives the bytes their final name and makes name and bytes survive a power cut. */
async function settle(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await rename(from, to);
  for (const path of [dirname(to), dirname(dirname(to))]) {
    const directory = await open(path, "r");
    await directory.sync();
    await directory.close();
  }
}

/** The client's name for people to read: no path, no control characters, at most 255 characters. */
function displayName(name: string): string {
  const last = basename(name.replaceAll("\\", "/"));
  // Cut first: that may split a character in two.
  return last.slice(0, 255).replace(/[\p{Cc}\p{Cs}]/gu, "") || "file";
}
