import { createHash, type KeyObject, sign } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { signedPayload, verifySignedDocument } from "../lib/signed-document.ts";

/** Signed list of all files of a built plugin, in its folder. @source docs/decisions/0654-signed-plugins.md */
const SIGNATURE_FILE = "signature.json";
const MAX_PUBLISHER_LENGTH = 140;

/** Which plugins an appliance takes. */
export interface PluginTrust {
  /** Public keys of publishers, as in `trust.plugins`. */
  keys: readonly string[];
  allowsUnsigned: boolean;
}

/** Without settings, as for authors. */
export const ANY_PLUGIN: PluginTrust = { keys: [], allowsUnsigned: true };

interface SignedList {
  name: string;
  version: string;
  publisher: string;
  /** SHA-256 (hex) by path. */
  files: Record<string, string>;
}

/** Signs all files of a built plugin: writes signature.json beside them. */
export function signPlugin(
  folder: string,
  { name, version, publisher, key }: Omit<SignedList, "files"> & { key: KeyObject },
): void {
  const payload = signedPayload("plugin", { name, version, publisher, files: hashFiles(folder) } satisfies SignedList);
  const document = { payload: payload.toString("base64"), signature: sign(null, payload, key).toString("base64") };
  writeFileSync(join(folder, SIGNATURE_FILE), `${JSON.stringify(document)}\n`);
}

/** Whether the folder of a plugin has a signature, good or not. */
export function isSigned(folder: string): boolean {
  return existsSync(join(folder, SIGNATURE_FILE));
}

/**
 * Who signed the plugin in this folder, as text for people; null if it is unsigned. Throws CallerError if its files are not those
 * that were signed, if no trusted key signed them, and for an unsigned one where those are not allowed.
 */
export function verifyPlugin(
  folder: string,
  { name, version }: Pick<SignedList, "name" | "version">,
  { keys, allowsUnsigned }: PluginTrust,
): string | null {
  if (!isSigned(folder)) {
    if (allowsUnsigned) return null;
    throw refused(sentence("plugin-host.unsigned"));
  }
  const document = readFileSync(join(folder, SIGNATURE_FILE), "utf8");
  const list = verifySignedDocument(document, keys, "plugin") as Partial<SignedList>;
  if (list.name !== name || list.version !== version || typeof list.files !== "object" || list.files === null)
    throw refused(sentence("plugin-host.signed-for-another"));
  const found = hashFiles(folder);
  for (const path of Object.keys(found))
    if (!Object.hasOwn(list.files, path)) throw refused(sentence("error.path-is-not-in-the-signed-list", { path }));
  for (const [path, hash] of Object.entries(list.files))
    if (found[path] !== hash) throw refused(sentence("error.path-does-not-match-the-signed-list", { path }));
  return String(list.publisher).slice(0, MAX_PUBLISHER_LENGTH);
}

/** Links and devices are no part of a plugin: one in its folder is not in the list. */
function hashFiles(folder: string, below = ""): Record<string, string> {
  const entries = readdirSync(join(folder, below)).flatMap((name): [string, string][] => {
    const path = below === "" ? name : `${below}/${name}`;
    if (path === SIGNATURE_FILE) return [];
    const kind = lstatSync(join(folder, path));
    if (kind.isDirectory()) return Object.entries(hashFiles(folder, path));
    return [
      [
        path,
        kind.isFile()
          ? createHash("sha256")
              .update(readFileSync(join(folder, path)))
              .digest("hex")
          : "",
      ],
    ];
  });
  return Object.fromEntries(entries);
}

function refused(message: string): CallerError {
  return new CallerError("invalid-value", message);
}
