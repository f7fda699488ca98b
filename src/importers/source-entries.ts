import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** The files of a source; names are compared without folders and without case. */
export interface SourceFiles {
  /** Null if there is no such file. Throws CallerError if there are several. */
  open(name: string): Promise<AsyncIterable<Uint8Array> | null>;
  has(name: string): boolean;
  close(): void;
}

/** Adds to the list of a key. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** True for what operating systems put beside files. */
export function isHiddenEntry(path: string): boolean {
  return path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");
}

/** Throws for a file that lies in several folders. */
export function singleEntry<T>(name: string, found: readonly T[] | undefined): T | null {
  if (found && found.length > 1) {
    throw new CallerError(
      "invalid-value",
      sentence("upload.the-source-has-count-files-name-keep-the-current-one", { count: found.length, name }),
    );
  }
  return found?.[0] ?? null;
}
