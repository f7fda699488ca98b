import { open } from "node:fs/promises";
import type { StoredFile } from "../schema/field.ts";
import type { FileStore } from "../store/store.ts";
import type { Answer } from "./action.ts";

/** Kinds that a browser may show; anything else is saved, so that an uploaded page never runs as ours. */
const SHOWN = /^(image\/(png|jpeg|gif)|audio\/[\w.+-]+)$/;

/** The bytes of a row's file. Opened before anything is answered: one that is gone from the disk must not look like a cut line. */
export async function fileAnswer(file: StoredFile, files: FileStore): Promise<Answer> {
  const opened = await open(files.pathOf(file));
  const disposition = SHOWN.test(file.contentType) ? "inline" : "attachment";
  return {
    type: file.contentType,
    headers: {
      "Content-Length": String(file.size),
      "Content-Disposition": `${disposition}; filename*=UTF-8''${encodeName(file.fileName)}`,
      ETag: `"${file.sha256}"`,
    },
    body: opened.createReadStream(),
  };
}

/** Stored names hold no lone surrogates, which could not be encoded. @source RFC 8187 §3.2.1 */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}
