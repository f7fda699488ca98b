import { promisify } from "node:util";
import { type Entry, open, type ZipFile } from "yauzl";
import { CallerError } from "../lib/errors.ts";

/** Most bytes of one unpacked file, and files of an archive: a roster of a million enrolments. @source docs/decisions/0540-importers.md, Loads */
const MAX_FILE_BYTES = 268_435_456;
const MAX_FILES = 100;

/** Opens a file of a source by name; null if it does not exist. */
export type OpenSourceFile = (name: string) => Promise<AsyncIterable<Uint8Array> | null>;

/** Files of a .zip by name without folders. Throws CallerError for an invalid or oversized archive. */
export async function openZipArchive(path: string): Promise<{ open: OpenSourceFile; close(): void }> {
  const archive = await promisify<string, object, ZipFile>(open as never)(path, {
    lazyEntries: true,
    autoClose: false,
  }).catch(() => {
    throw new CallerError("invalid-value", "Must be a valid .zip archive.");
  });
  try {
    const entries = await entriesOf(archive);
    return {
      async open(name) {
        const entry = entries.get(name.toLowerCase());
        return entry ? ((await promisify(archive.openReadStream.bind(archive) as never)(entry)) as never) : null;
      },
      close: () => archive.close(),
    };
  } catch (error) {
    archive.close();
    throw error;
  }
}

function entriesOf(archive: ZipFile): Promise<Map<string, Entry>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>();
    archive.on("entry", (entry: Entry) => {
      if (entry.uncompressedSize > MAX_FILE_BYTES || entries.size >= MAX_FILES) {
        return reject(new CallerError("too-large", "The unpacked archive exceeds the size limit."));
      }
      entries.set(entry.fileName.slice(entry.fileName.lastIndexOf("/") + 1).toLowerCase(), entry);
      archive.readEntry();
    });
    archive.once("end", () => resolve(entries));
    archive.once("error", () => reject(new CallerError("invalid-value", "The archive is corrupt.")));
    archive.readEntry();
  });
}
