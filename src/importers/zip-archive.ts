import { promisify } from "node:util";
import { type Entry, open, type ZipFile } from "yauzl";
import { CallerError } from "../lib/errors.ts";
import { addTo, isHiddenEntry, type SourceFiles, singleEntry } from "./source-entries.ts";

/** Most bytes of one unpacked file, and files of an archive: a roster of a million enrolments. @source docs/decisions/0540-importers.md, Loads */
const MAX_FILE_BYTES = 268_435_456;
const MAX_FILES = 100;

/** Files of a .zip by name without folders. Throws CallerError for an invalid or oversized archive. */
export async function openZipArchive(path: string): Promise<SourceFiles> {
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
        const entry = singleEntry(name, entries.get(name.toLowerCase()));
        return entry ? ((await promisify(archive.openReadStream.bind(archive) as never)(entry)) as never) : null;
      },
      has: (name) => entries.has(name.toLowerCase()),
      close: () => archive.close(),
    };
  } catch (error) {
    archive.close();
    throw error;
  }
}

function entriesOf(archive: ZipFile): Promise<Map<string, Entry[]>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry[]>();
    let count = 0;
    archive.on("entry", (entry: Entry) => {
      if (entry.uncompressedSize > MAX_FILE_BYTES || ++count > MAX_FILES) {
        return reject(new CallerError("too-large", "The unpacked archive exceeds the size limit."));
      }
      const name = entry.fileName.slice(entry.fileName.lastIndexOf("/") + 1).toLowerCase();
      if (name !== "" && !isHiddenEntry(entry.fileName)) addTo(entries, name, entry);
      archive.readEntry();
    });
    archive.once("end", () => resolve(entries));
    archive.once("error", () => reject(new CallerError("invalid-value", "The archive is corrupt.")));
    archive.readEntry();
  });
}
