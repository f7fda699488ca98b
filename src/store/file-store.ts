import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, rmSync } from "node:fs";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "../lib/durable-file.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { StoredFile } from "../schema/field.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import { detectFileType } from "./file-type.ts";
import type { SharedLog } from "./shared-log.ts";
import type { FileStore } from "./store.ts";

const HEAD_BYTES = 65_536;
/** Prefix of the names of incomplete uploads. */
const TEMPORARY_PREFIX = "arriving-";

/** Converts uploaded files to the format in which they are stored. */
export interface FileConverter {
  /** Content types that are converted, unless the field accepts any type. */
  readonly from: readonly string[];
  /**
   * Converts the file `source` into the file `target`; urgent conversions overtake waiting ones. Rejects as
   * `FileStore.put` does.
   */
  convert(contentType: string, source: string, target: string, isUrgent: () => boolean): Promise<void>;
}

/**
 * Stores files under DIR/files/<first two hex digits>/<sha256>; client file names are kept as text only. Removes
 * incomplete uploads of an earlier process, so only one store may use a folder at a time.
 */
export function createFileStore(
  dataDir: string,
  converter?: FileConverter,
  shared?: Pick<SharedLog, "storeFile">,
): FileStore {
  const root = join(dataDir, "files");
  removeTemporaryFiles(root);
  const pathOf = (file: StoredFile): string => join(root, file.sha256.slice(0, 2), file.sha256);
  /** By SHA-256: uploads that were stored but not released yet. */
  const holds = new Map<string, { times: number; isNew: boolean; kept: boolean }>();
  const hold = (file: StoredFile): void => {
    const held = holds.get(file.sha256) ?? { times: 0, isNew: !existsSync(pathOf(file)), kept: false };
    held.times += 1;
    holds.set(file.sha256, held);
  };
  // No await: the same content must not be stored in between.
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
    async put(bytes, { fileName, maxBytes, types, isUrgent = () => false }) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const arriving = join(root, `${TEMPORARY_PREFIX}${newId()}`);
      try {
        const received = await writeTemporaryFile(bytes, arriving, maxBytes);
        const kind = detectFileType(received.head);
        if (!types.includes("*/*") && !types.includes(kind.contentType)) {
          throw new CallerError(
            "unsupported-media-type",
            sentence("error.the-file-type-type-is-not-allowed-must-be-one-of-types", {
              type: kind.contentType,
              types: types.join(", "),
            }),
          );
        }
        const name = sanitizeFileName(fileName);
        const isConverted =
          converter !== undefined && !types.includes("*/*") && converter.from.includes(kind.contentType);
        const file: StoredFile = isConverted
          ? await convertFile(arriving, kind.contentType, name, { converter, isUrgent })
          : { sha256: received.sha256, size: received.size, fileName: name, ...kind };
        const upload = new UploadedFile(file);
        hold(file);
        try {
          await moveIntoPlace(arriving, pathOf(file));
          await shared?.storeFile(file.sha256, pathOf(file));
        } catch (error) {
          release(upload, false);
          throw error;
        }
        return upload;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        throw new UpstreamError("storage-full", sentence("error.the-disk-is-full"), {}, error);
      } finally {
        await rm(arriving, { force: true });
      }
    },
  };
}

/** Replaces the uploaded file by its converted form. */
async function convertFile(
  arrived: string,
  contentType: string,
  fileName: string,
  { converter, isUrgent }: { converter: FileConverter; isUrgent: () => boolean },
): Promise<StoredFile> {
  const [made, copy] = [`${arrived}-made`, `${arrived}-copy`];
  try {
    await converter.convert(contentType, arrived, made, isUrgent);
    const { sha256, size, head } = await writeTemporaryFile(createReadStream(made), copy, Number.POSITIVE_INFINITY);
    await rename(copy, arrived);
    const kind = detectFileType(head);
    const extension = kind.contentType.replace(/^.*\//, ".");
    return { sha256, size, fileName: `${fileName.replace(/\.[^.]*$/, "")}${extension}`, ...kind };
  } finally {
    await Promise.all([made, copy].map((path) => rm(path, { force: true })));
  }
}

function removeTemporaryFiles(root: string): void {
  if (!existsSync(root)) return;
  for (const name of readdirSync(root))
    if (name.startsWith(TEMPORARY_PREFIX)) rmSync(join(root, name), { force: true });
}

async function writeTemporaryFile(
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
      if (size > maxBytes)
        throw new CallerError(
          "too-large",
          sentence("error.the-file-must-not-be-larger-than-limit-bytes", { limit: maxBytes }),
        );
      hash.update(chunk);
      await file.write(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest("hex"), size, head: Buffer.concat(head) };
}

/** Renames the file to its final name and fsyncs the folders, so that name and bytes survive a power cut. */
async function moveIntoPlace(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await rename(from, to);
  for (const folder of [dirname(to), dirname(dirname(to))]) await syncFolder(folder);
}

/** The client's file name for display: no path, no control characters, at most 255 characters. */
function sanitizeFileName(name: string): string {
  const last = basename(name.replaceAll("\\", "/"));
  // Slice first: it may split a surrogate pair, and the pattern removes the half.
  return last.slice(0, 255).replace(/[\p{Cc}\p{Cs}]/gu, "") || "file";
}
