import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { compileDecoder, type Decoder } from "../../schema/decoder.ts";
import type { Field, FileFieldData } from "../../schema/field.ts";
import { parseUntrustedJson } from "../../schema/untrusted-json.ts";
import type { UploadedFile } from "../../schema/uploaded-file.ts";
import type { FileStore } from "../../store/store.ts";
import { FORM_TYPE, JSON_TYPE, readText } from "./body-parser.ts";
import { parseBrackets } from "./bracket-parser.ts";
import { readMultipart } from "./multipart.ts";

/** Decoder and file fields of a body, compiled once. */
export interface BodyParserPlan {
  decoder: Decoder;
  files: ReadonlyMap<string, FileFieldData>;
}

/** An undecoded body. */
export interface RawBody {
  kind: "none" | "json" | "form" | "multipart";
  /** The JSON value, or the fields of a form with nested names; {} without a body. */
  value: unknown;
  /** Stored files; each must be released at the end of the request. */
  uploads: readonly UploadedFile[];
}

const MULTIPART_TYPE = "multipart/form-data";

/** A request without a body. */
export const NO_BODY: RawBody = { kind: "none", value: {}, uploads: [] };

/** Compiles the parser plan of a body with `fields`. */
export function compileBodyParser(fields: Readonly<Record<string, Field>>): BodyParserPlan {
  const files = new Map<string, FileFieldData>();
  for (const [name, field] of Object.entries(fields)) if (field.kind === "file") files.set(name, field);
  return { decoder: compileDecoder(fields), files };
}

/** True for form-urlencoded bodies, the only ones that may contain an access token. */
export function isUrlEncoded(request: IncomingMessage): boolean {
  return mediaTypeOf(request) === FORM_TYPE && hasBody(request);
}

/** True for a body of a type that `readBody` reads. */
export function mayHaveFields(request: IncomingMessage): boolean {
  return [JSON_TYPE, FORM_TYPE, MULTIPART_TYPE].includes(mediaTypeOf(request)) && hasBody(request);
}

/**
 * Reads the whole body; files are streamed to `files`. Throws CallerError: unsupported-media-type, too-large,
 * invalid-value if it is malformed, truncated or nested too deeply.
 */
export async function readBody(
  request: IncomingMessage,
  plan: BodyParserPlan,
  deps: { clock: Clock; files: FileStore },
): Promise<RawBody> {
  if (!hasBody(request)) return NO_BODY;
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    throw unsupportedMediaType(sentence("request.content-encoding-is-not-supported-for-request-bodies"));
  switch (mediaTypeOf(request)) {
    case JSON_TYPE:
      return { kind: "json", value: parseUntrustedJson(await readUtf8Text(request, deps.clock)), uploads: [] };
    case FORM_TYPE:
      return { kind: "form", value: parseBrackets(await readUtf8Text(request, deps.clock)), uploads: [] };
    case MULTIPART_TYPE:
      return { kind: "multipart", ...(await readMultipart(request, plan.files, deps)) };
    default:
      throw unsupportedMediaType(sentence("request.the-content-type-must-be-application-json-application-x-www"));
  }
}

/** Decodes the fields of `plan` for the validator. */
export function decodeBody(body: RawBody, { decoder }: BodyParserPlan): Record<string, unknown> {
  return body.kind === "json" ? decoder.json(body.value) : decoder.form(body.value as Record<string, unknown>);
}

/** Error of a body in a media type that the endpoint does not accept. */
export function unsupportedMediaType(message: string): CallerError {
  return new CallerError("unsupported-media-type", message);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Content type of a request without parameters, in lower case; empty if absent. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

async function readUtf8Text(request: IncomingMessage, clock: Clock): Promise<string> {
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(request.headers["content-type"] ?? "")?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw unsupportedMediaType(sentence("request.the-charset-must-be-utf-8"));
  return readText(request, clock);
}
