import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import { CallerError, invalidValue } from "../base/errors.ts";
import { camelCase, compileDecoder, type Decoder } from "../schema/decode.ts";
import type { Field, FileFieldData } from "../schema/field.ts";
import { parseJsonText } from "../schema/json-text.ts";
import type { UploadedFile } from "../schema/uploaded-file.ts";
import type { FileStore } from "../store/store.ts";
import { arriving } from "./arriving.ts";
import { nestPairs, parseBrackets } from "./brackets.ts";
import { boundaryOf, type Part, readMultipart } from "./multipart.ts";

/** Most bytes of a body without its uploaded files. own choice: 1.5 MiB, room for the largest field with escapes. */
const MOST_BODY_BYTES = 1_572_864;

/** Parts read in one go; between two the event loop turns, since one chunk may bring a thousand of them. */
const PARTS_PER_TURN = 100;

interface BodyNeeds {
  clock: Clock;
  files: FileStore;
}

/** What a body may hold, compiled once. */
export interface BodyPlan {
  decoder: Decoder;
  files: ReadonlyMap<string, FileFieldData>;
}

/** A body as it was sent. */
export interface RawBody {
  kind: "none" | "json" | "form" | "multipart";
  /** The JSON value, or the members of a form with bracketed keys nested; {} without a body. */
  value: unknown;
  /** Files that were stored; each must be released when the request ends. */
  uploads: readonly UploadedFile[];
}

/** What a request without body says. */
export const NO_BODY: RawBody = { kind: "none", value: {}, uploads: [] };

/** Compiles what is needed to read bodies with members `fields`. */
export function planBody(fields: Readonly<Record<string, Field>>): BodyPlan {
  const files = new Map<string, FileFieldData>();
  for (const [name, field] of Object.entries(fields)) if (field.kind === "file") files.set(name, field);
  return { decoder: compileDecoder(fields), files };
}

/** True for a body in the one form that may carry an access token. */
export function isUrlEncoded(request: IncomingMessage): boolean {
  return mediaTypeOf(request) === "application/x-www-form-urlencoded" && hasBody(request);
}

/**
 * Reads the body of a request whole; files go to `files` as they arrive. Throws CallerError: unsupported-media-type,
 * too-large, invalid-value for what is malformed, truncated or nested too deep.
 */
export async function readBody(request: IncomingMessage, plan: BodyPlan, needs: BodyNeeds): Promise<RawBody> {
  if (!hasBody(request)) return NO_BODY;
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") throw unsupported("Bodies are sent without content encoding.");
  const bytes = arriving(request, needs.clock);
  switch (mediaTypeOf(request)) {
    case "application/json":
      return { kind: "json", value: parseJsonText(await textOf(request, bytes)), uploads: [] };
    case "application/x-www-form-urlencoded":
      return { kind: "form", value: parseBrackets(await textOf(request, bytes)), uploads: [] };
    case "multipart/form-data":
      return readParts(request, bytes, plan, needs);
    default:
      throw unsupported("Send application/json, application/x-www-form-urlencoded or multipart/form-data.");
  }
}

/** The members that `plan` knows, in the spelling and types that checks expect. */
export function decodeBody(body: RawBody, { decoder }: BodyPlan): Record<string, unknown> {
  return body.kind === "json" ? decoder.json(body.value) : decoder.form(body.value as Record<string, unknown>);
}

function unsupported(message: string): CallerError {
  return new CallerError("unsupported-media-type", message);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

async function textOf(request: IncomingMessage, bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(request.headers["content-type"] ?? "")?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw unsupported("Bodies are sent as UTF-8.");
  if (Number(request.headers["content-length"] ?? 0) > MOST_BODY_BYTES) throw tooLarge();
  const { text } = await collect(bytes, MOST_BODY_BYTES);
  return text;
}

function tooLarge(): CallerError {
  return new CallerError("too-large", `A body may have at most ${MOST_BODY_BYTES} bytes beside its files.`);
}

async function collect(bytes: AsyncIterable<Uint8Array>, most: number): Promise<{ text: string; size: number }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > most) throw tooLarge();
    chunks.push(chunk);
  }
  return { text: decodeUtf8(Buffer.concat(chunks)), size };
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CallerError("invalid-value", "The body is not UTF-8.");
  }
}

async function readParts(
  request: IncomingMessage,
  bytes: AsyncGenerator<Buffer>,
  plan: BodyPlan,
  needs: BodyNeeds,
): Promise<RawBody> {
  const uploads: Record<string, UploadedFile> = {};
  try {
    const texts = nestPairs(await readPairs(request, bytes, plan, needs, uploads));
    return { kind: "multipart", value: { ...texts, ...uploads }, uploads: Object.values(uploads) };
  } catch (error) {
    for (const upload of Object.values(uploads)) needs.files.release(upload, false);
    throw error;
  } finally {
    await bytes.return(undefined);
  }
}

/** The text parts; files are put into `uploads` as they arrive. */
async function readPairs(
  request: IncomingMessage,
  bytes: AsyncIterable<Buffer>,
  plan: BodyPlan,
  { clock, files }: BodyNeeds,
  uploads: Record<string, UploadedFile>,
): Promise<[string, string][]> {
  const reader = readMultipart(bytes, boundaryOf(request.headers["content-type"] ?? ""));
  const pairs: [string, string][] = [];
  let left = MOST_BODY_BYTES;
  let parts = 0;
  for (let part = await reader.next(); part; part = await reader.next()) {
    if (++parts % PARTS_PER_TURN === 0) await new Promise<void>((resolve) => clock.soon(resolve));
    const name = camelCase(part.name);
    const field = plan.files.get(name);
    if (part.fileName === null) {
      const { text, size } = await collect(part.bytes, left);
      left -= size + part.name.length;
      if (left < 0) throw tooLarge();
      pairs.push([part.name, text]);
      // A browser sends an empty part without name for a file that was not chosen.
    } else if (field && part.fileName !== "") {
      if (uploads[name]) throw invalidValue(name, "Send one file.");
      uploads[name] = await store(part, name, field, files);
    }
  }
  return pairs;
}

async function store(part: Part, name: string, field: FileFieldData, files: FileStore): Promise<UploadedFile> {
  const { maxBytes, types } = field;
  try {
    return await files.put(part.bytes, { fileName: part.fileName ?? "file", maxBytes, types });
  } catch (error) {
    if (!(error instanceof CallerError) || error.faults.length > 0) throw error;
    throw new CallerError(error.type, error.message, [{ field: name, type: error.type, message: error.message }]);
  }
}
