import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { PassThrough, type Transform } from "node:stream";
import { multipart, type Part } from "formidable";
import { type ExtendedFormidableOptions, koaBody } from "koa-body";
import type { Clock } from "../../lib/clock.ts";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { camelCase } from "../../schema/decoder.ts";
import type { FileFieldData } from "../../schema/field.ts";
import type { UploadedFile } from "../../schema/uploaded-file.ts";
import type { FileStore } from "../../store/store.ts";
import { bodyTooLarge, decodeUtf8, MAX_REQUEST_BODY_BYTES, malformedBody, parseBody } from "./body-parser.ts";
import { nestPairs } from "./bracket-parser.ts";

/** Maximum number of text parts. */
const MAX_FIELDS = 10_000;
/** Maximum header size of one part: ten times what browsers send. */
const MAX_PART_HEADER_BYTES = 4_096;
/** Longer than any priority value. */
const MAX_PRIORITY_LENGTH = 16;

/** A multipart body that was read whole. */
interface MultipartBody {
  value: Record<string, unknown>;
  uploads: UploadedFile[];
}

/** Files being stored. */
interface Uploads {
  /** Takes a file part; reading stops when it can't be stored. */
  acceptPart(part: Part, name: string, field: FileFieldData): void;
  /** Collects the value of the field `priority`, which precedes the files. */
  notePriority(chunk: Buffer): void;
  /** Ends the reading of the body. */
  fail(error: unknown): void;
  failed: Promise<never>;
  /** By member name, once all are stored. */
  stored(): Promise<Record<string, UploadedFile>>;
  /** Aborts uploads in progress and deletes stored files. */
  discard(): Promise<void>;
}

/**
 * Reads a multipart body: texts as members with bracketed names nested, files that `fields` names into `files` as they
 * arrive; other files are skipped. Throws CallerError, and then nothing is stored.
 */
export async function readMultipart(
  request: IncomingMessage,
  fields: ReadonlyMap<string, FileFieldData>,
  { clock, files }: { clock: Clock; files: FileStore },
): Promise<MultipartBody> {
  let stream: Transform | null = null;
  const uploads = createUploads(files, () => stream);
  const tail = watchClosingBoundary(request.headers["content-type"] ?? "");
  const parser = koaBody({
    multipart: true,
    formidable: {
      maxFields: MAX_FIELDS,
      maxFieldsSize: MAX_REQUEST_BODY_BYTES,
      enabledPlugins: [limitPartHeaders],
      onPart: routeParts(fields, uploads),
    },
  });
  try {
    const texts = await parseBody(parser, request, clock, {
      onChunk: tail.push,
      failed: uploads.failed,
      onStart: (seen) => {
        stream = seen;
      },
    });
    if (tail.isCut()) throw malformedBody();
    const stored = await uploads.stored();
    const value = { ...nestPairs(pairsOf(texts as Record<string, string | string[]>)), ...stored };
    return { value, uploads: Object.values(stored) };
  } catch (error) {
    await uploads.discard();
    throw error;
  }
}

function* pairsOf(texts: Record<string, string | string[]>): Generator<[string, string]> {
  for (const [name, values] of Object.entries(texts)) {
    for (const value of Array.isArray(values) ? values : [values]) yield [name, decodeUtf8(value)];
  }
}

/** A part with a file name is a file and any other a text, whatever content type either has. */
function routeParts(
  fields: ReadonlyMap<string, FileFieldData>,
  uploads: Uploads,
): NonNullable<ExtendedFormidableOptions["onPart"]> {
  const seen = new Set<string>();
  // Must not throw: nothing would catch it.
  return (part, readText) => {
    if (!part.name || part.name === "__proto__") return uploads.fail(malformedBody());
    if (part.originalFilename === null) {
      part.mimetype = null;
      if (part.name === "priority") part.on("data", uploads.notePriority);
      // Bytes, since broken UTF-8 is refused.
      return readText(Object.assign(part, { transferEncoding: "latin1" }));
    }
    const name = camelCase(part.name);
    const field = fields.get(name);
    // A browser sends an empty part without name for a file that was not chosen.
    if (!field || part.originalFilename === "") return;
    if (seen.has(name)) return uploads.fail(invalidValue(name, "Must be a single file."));
    seen.add(name);
    uploads.acceptPart(part, name, field);
  };
}

function createUploads(files: FileStore, source: () => Transform | null): Uploads {
  const storing = new Map<string, Promise<UploadedFile>>();
  const sinks: PassThrough[] = [];
  let priority = "";
  // As far as the form has come: a recording of an emergency is not read after all others.
  const isUrgent = (): boolean => priority === "critical";
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  // Later failures are ignored.
  failed.catch(() => undefined);
  let discarded = false;
  return {
    fail: (error) => fail(error),
    failed,
    notePriority(chunk) {
      priority = (priority + chunk.toString("latin1")).slice(0, MAX_PRIORITY_LENGTH);
    },
    acceptPart(part, name, { maxBytes, types }) {
      // The parser emits buffered parts even after an abort.
      if (discarded) return;
      const sink = new PassThrough();
      sinks.push(sink);
      part.on("data", (chunk: Buffer) => {
        if (!sink.destroyed && !sink.write(chunk)) source()?.pause();
      });
      // A finished sink emits no `drain`.
      for (const event of ["drain", "finish"]) sink.on(event, () => source()?.resume());
      part.on("end", () => sink.end());
      const stored = files.put(sink, { fileName: part.originalFilename ?? "file", maxBytes, types, isUrgent });
      storing.set(name, stored);
      stored.catch((error) => fail(atField(error, name)));
    },
    async stored() {
      const entries = [...storing].map(async ([name, stored]) => [name, await stored] as const);
      return Object.fromEntries(await Promise.race([Promise.all(entries), failed]));
    },
    async discard() {
      discarded = true;
      for (const sink of sinks) sink.destroy();
      for (const result of await Promise.allSettled(storing.values())) {
        if (result.status === "fulfilled") files.release(result.value, false);
      }
    },
  };
}

function atField(error: unknown, field: string): unknown {
  if (!(error instanceof CallerError) || error.faults.length > 0) return error;
  const { type, message } = error;
  return new CallerError(type, message, [{ field, type, message }]);
}

/** Events of the formidable parser. */
type ParserEvents = EventEmitter & { destroy(error: CallerError): void };

/** Limits part headers: formidable buffers them without a limit and takes 79 s to find the file name in 1 MB. */
function limitPartHeaders(...[form, options]: Parameters<typeof multipart>): void {
  multipart.call(form, form, options);
  const parser = (form as unknown as { _parser: ParserEvents | null })._parser;
  let head = 0;
  let all = 0;
  parser?.prependListener("data", ({ name, start, end }: { name: string; start?: number; end?: number }) => {
    if (name === "partBegin") head = 0;
    if (name !== "headerField" && name !== "headerValue") return;
    const bytes = (end ?? 0) - (start ?? 0);
    head += bytes;
    all += bytes;
    if (head > MAX_PART_HEADER_BYTES) parser.destroy(malformedBody());
    else if (all > MAX_REQUEST_BODY_BYTES) parser.destroy(bodyTooLarge());
  });
}

/**
 * Detects truncation: formidable accepts a body that ends with a boundary, although the closing boundary ends with
 * `--`.
 */
function watchClosingBoundary(contentType: string): { push(chunk: Buffer): void; isCut(): boolean } {
  const match = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType);
  const boundary = `--${match?.[1] ?? match?.[2] ?? ""}`;
  let tail = "";
  return {
    push(chunk) {
      tail = (tail + chunk.toString("latin1", Math.max(0, chunk.length - boundary.length - 2))).slice(
        -boundary.length - 2,
      );
    },
    isCut: () => tail.trimEnd().endsWith(boundary),
  };
}
