import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { type Entry, open, type ZipFile } from "yauzl";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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
    throw new CallerError("invalid-value", sentence("upload.must-be-a-valid-zip-archive"));
  });
  try {
    const entries = await entriesOf(archive);
    return {
      async open(name) {
        const entry = singleEntry(name, entries.get(name.toLowerCase()));
        return entry && readEntry(archive, entry);
      },
      has: (name) => entries.has(name.toLowerCase()),
      close: () => archive.close(),
    };
  } catch (error) {
    archive.close();
    throw error;
  }
}

/** The bytes of an entry. Throws CallerError where they are damaged: the library checks sizes, but no checksums. */
async function* readEntry(archive: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  let checksum = 0;
  try {
    const openEntry = promisify<Entry, AsyncIterable<Uint8Array>>(archive.openReadStream.bind(archive) as never);
    for await (const bytes of await openEntry(entry)) {
      checksum = crc32(bytes, checksum);
      yield bytes;
    }
  } catch (error) {
    // Errors of the disk are not those of the file.
    if (typeof (error as { syscall?: unknown }).syscall === "string") throw error;
    throw damagedEntry(entry);
  }
  if (checksum !== entry.crc32) throw damagedEntry(entry);
}

function damagedEntry({ fileName }: Entry): CallerError {
  return new CallerError(
    "invalid-value",
    sentence("upload.the-archive-is-corrupt-file-cannot-be-unpacked", { file: fileName }),
  );
}

function entriesOf(archive: ZipFile): Promise<Map<string, Entry[]>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry[]>();
    let count = 0;
    archive.on("entry", (entry: Entry) => {
      if (entry.uncompressedSize > MAX_FILE_BYTES || ++count > MAX_FILES) {
        return reject(new CallerError("too-large", sentence("upload.the-unpacked-archive-exceeds-the-size-limit")));
      }
      const name = entry.fileName.slice(entry.fileName.lastIndexOf("/") + 1).toLowerCase();
      if (name !== "" && !isHiddenEntry(entry.fileName)) addTo(entries, name, entry);
      archive.readEntry();
    });
    archive.once("end", () => resolve(entries));
    archive.once("error", () => reject(new CallerError("invalid-value", sentence("upload.the-archive-is-corrupt"))));
    archive.readEntry();
  });
}
