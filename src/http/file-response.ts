import { open } from "node:fs/promises";
import { invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { boolean, type FileFieldData, option, type StoredFile } from "../schema/field.ts";
import type { FileStore } from "../store/store.ts";
import type { ApiDeps } from "./dependencies.ts";
import { type Query, textParameter } from "./query/query.ts";

/** Kinds that a browser may show; anything else is saved, so that an uploaded page never runs as ours. */
const INLINE_TYPES = /^(image\/(png|jpeg|gif)|audio\/[\w.+-]+)$/;

const DOWNLOAD = { download: boolean("It is to be saved instead of shown.", { default: false }) };
const CONVERT = {
  convert: option("A recording as it would be played: WAV of 16-bit samples, 8 kHz, mono.", ["pcm"]),
};

/** What the query of a request for a file field's bytes may say. @source digest, `…/audio`, `…/image` */
export function fileQuery({ types }: Pick<FileFieldData, "types">) {
  return isAudio(types) ? { ...DOWNLOAD, ...CONVERT } : DOWNLOAD;
}

/**
 * The bytes of a row's file. Opened before anything is answered: one that is gone from the disk must not look like a cut
 * line. With `download` a browser saves them.
 */
export async function fileResponse(file: StoredFile, files: FileStore, download = false): Promise<HttpResponse> {
  const opened = await open(files.pathOf(file));
  return {
    type: file.contentType,
    headers: {
      "Content-Length": String(file.size),
      "Content-Disposition": contentDisposition(file, download),
      ETag: `"${file.sha256}"`,
    },
    body: opened.createReadStream(),
  };
}

/** As `fileAnswer`, as the query's `download` and `convert` ask. Throws invalid-value. */
export async function requestedFileResponse(
  file: StoredFile,
  { types }: Pick<FileFieldData, "types">,
  query: Query,
  { store, notificationService }: Pick<ApiDeps, "store" | "notificationService">,
): Promise<HttpResponse> {
  const download = textParameter(query, "download") === "true";
  const convert = isAudio(types) ? textParameter(query, "convert") : null;
  if (convert === null || convert === "") return fileResponse(file, store.files, download);
  if (convert !== "pcm") throw invalidValue("convert", "It is pcm.");
  const wav = await notificationService.recordingAudio(file);
  const headers = { "Content-Length": String(wav.length), "Content-Disposition": contentDisposition(file, download) };
  return { type: "audio/wav", headers, body: wav };
}

function isAudio(types: readonly string[]): boolean {
  return types.every((type) => type.startsWith("audio/"));
}

function contentDisposition({ contentType, fileName }: StoredFile, download: boolean): string {
  const kind = INLINE_TYPES.test(contentType) && !download ? "inline" : "attachment";
  return `${kind}; filename*=UTF-8''${encodeName(fileName)}`;
}

/** Stored names hold no lone surrogates, which could not be encoded. @source RFC 8187 §3.2.1 */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}
