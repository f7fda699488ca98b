import { open } from "node:fs/promises";
import { invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { boolean, type FileFieldData, option, type StoredFile } from "../schema/field.ts";
import type { FileStore } from "../store/store.ts";
import type { ApiDeps } from "./dependencies.ts";
import { type Query, textParameter } from "./query/query.ts";

/** Content types that browsers may render; others are downloaded, so that an uploaded page never runs in our origin. */
const INLINE_TYPES = /^(image\/(png|jpeg|gif)|audio\/[\w.+-]+)$/;

const DOWNLOAD = { download: boolean("Download the file instead of showing it.", { default: false }) };
const CONVERT = {
  convert: option("Converts a recording to the format in which it is played: WAV, 16 bit, 8 kHz, mono.", ["pcm"]),
};

/** Query parameters for downloading a file field. @source docs/decisions/0042-api-contract.md */
export function fileQuery({ types }: Pick<FileFieldData, "types">) {
  return isAudio(types) ? { ...DOWNLOAD, ...CONVERT } : DOWNLOAD;
}

/**
 * Responds with the file of a row. The file is opened first, so that a missing file is an error instead of a
 * truncated response. `download` sets the attachment disposition.
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

/** Same as `fileResponse`, with the query parameters `download` and `convert`. Throws invalid-value. */
export async function requestedFileResponse(
  file: StoredFile,
  { types }: Pick<FileFieldData, "types">,
  query: Query,
  { store, notificationService }: Pick<ApiDeps, "store" | "notificationService">,
): Promise<HttpResponse> {
  const download = textParameter(query, "download") === "true";
  const convert = isAudio(types) ? textParameter(query, "convert") : null;
  if (convert === null || convert === "") return fileResponse(file, store.files, download);
  if (convert !== "pcm") throw invalidValue("convert", sentence("field.must-be-pcm"));
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

/** Stored names contain no lone surrogates, which could not be encoded. @source RFC 8187 §3.2.1 */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}
