/**
 * Request bodies of strangers: the only file that calls koa-body (JSON and forms, as text) and busboy (multipart). Every
 * limit of both is set here, so that any body costs bounded time and memory: size, number of parts, part headers, bytes
 * outside files, progress, and work per turn of the event loop.
 * @source docs/decisions/0756-request-bodies.md
 */

import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import type { Context } from "koa";
import { koaBody } from "koa-body";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { openUploadStream } from "./upload-stream.ts";

export const JSON_TYPE = "application/json";
export const FORM_TYPE = "application/x-www-form-urlencoded";

/** Maximum size of a body without its uploaded files: 1.5 MiB, enough for the largest field with escapes. */
const MAX_REQUEST_BODY_BYTES = 1_572_864;
/** Maximum number of parts, files included. */
const MAX_PARTS = 10_100;
/** Bytes without a new part and outside parts: boundary, headers, parts that are not form data. Browsers send some 200. */
const MAX_BYTES_BETWEEN_PARTS = 24_576;
/** The parser drops headers beyond this silently, so the limit above comes first. */
const PARSER_HEADER_BYTES = 2 * MAX_BYTES_BETWEEN_PARTS;
/** Headers and boundaries of all parts may take as much as their texts. */
const MAX_BYTES_OUTSIDE_PARTS = MAX_REQUEST_BODY_BYTES;
/** Maximum size of all files that the endpoint does not take: they are read and discarded. */
const MAX_SKIPPED_BYTES = 67_108_864;
/** RFC 7578, 4.7: senders should not use any other. */
const PLAIN_ENCODINGS = ["7bit", "8bit", "binary", "utf-8"];

/** Text is read as bytes, because invalid UTF-8 must be refused and JSON and names are checked before parsing. */
const READ_TEXT = koaBody({
  json: false,
  urlencoded: false,
  textTypes: [JSON_TYPE, FORM_TYPE],
  textLimit: MAX_REQUEST_BODY_BYTES,
  encoding: "latin1",
});

/**
 * The text of a JSON or form body. Throws CallerError if it is too large, truncated or too slow, or is not UTF-8.
 */
export async function readText(request: IncomingMessage, clock: Clock): Promise<string> {
  const { stream, release } = openUploadStream(request, clock);
  const { headers } = request;
  // Minimal koa context: the parser uses nothing else. Whether there is a body was checked before.
  const context = {
    req: Object.assign(stream, { headers }),
    request: { body: undefined as unknown },
    method: "POST",
    is: (types: string[]) => types.find((type) => headers["content-type"]?.toLowerCase().trim().startsWith(type)),
  };
  try {
    await READ_TEXT(context as unknown as Context, async () => undefined);
    return decodeUtf8(Buffer.from(context.request.body as string, "latin1"));
  } catch (error) {
    throw bodyErrorOf(error);
  } finally {
    release();
  }
}

/** A part with a file name. */
export interface FilePart {
  name: string;
  fileName: string;
  bytes: Readable;
}

/**
 * Stores a file; null skips it. A rejection or exception stops the reading. `textOf` returns the text part with a name if
 * it came before the file.
 */
type AcceptFile = (part: FilePart, textOf: (name: string) => string | undefined) => Promise<unknown> | null;

/** A text part; its bytes are decoded once the body is complete. */
interface TextPart {
  name: string;
  chunks: Buffer[];
}

/**
 * Reads a multipart body: names and values of its text parts in order; a part with a file name is a file, whatever its
 * content type. Throws CallerError if it is too large, malformed, truncated or too slow; all files are closed then.
 */
export async function readParts(
  request: IncomingMessage,
  clock: Clock,
  acceptFile: AcceptFile,
): Promise<[name: string, value: string][]> {
  const parser = openMultipartParser(request);
  const { stream, release } = openUploadStream(request, clock);
  const parts = createPartReader(acceptFile);
  let ended = false;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    // The first failure wins and ends the reading, even if the client sends nothing more.
    fail = (error) => {
      ended = true;
      reject(error);
      stream.destroy(error as Error);
    };
  });
  // Without a reader it must not be an unhandled rejection.
  failed.catch(() => undefined);
  const finished = new Promise<void>((resolve) => parser.once("finish", resolve));
  stream.once("error", fail);
  parser.on("error", () => fail(malformedBody()));
  parser.once("partsLimit", () => fail(tooManyParts()));
  parser.on(
    "file",
    (name: string | undefined, bytes: BusboyFileStream, fileName: string | undefined, encoding: string) => {
      // The parser emits buffered parts even after a failure.
      if (ended) {
        bytes.resume();
        return;
      }
      try {
        parts.openPart({ name, bytes, fileName, encoding }, fail);
      } catch (error) {
        bytes.resume();
        fail(error);
      }
    },
  );
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      // Called when the parser has consumed the chunk, which waits for the readers of files.
      const consumed = new Promise<void>((resolve) => parser.write(chunk, () => resolve()));
      await Promise.race([consumed, failed]);
      parts.countBytes(chunk.length);
    }
    parser.end();
    await Promise.race([finished, failed]);
    return parts.texts.map(({ name, chunks }) => [name, decodeUtf8(Buffer.concat(chunks))]);
  } finally {
    ended = true;
    parser.destroy();
    parts.close();
    release();
  }
}

function openMultipartParser({ headers }: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": headers["content-type"] ?? "" },
      // Texts too: their bytes are checked before they are decoded.
      isPartAFile: () => true,
      limits: { parts: MAX_PARTS, headerSize: PARSER_HEADER_BYTES },
    });
  } catch {
    throw malformedBody();
  }
}

interface OpenedPart {
  name: string | undefined;
  bytes: BusboyFileStream;
  fileName: string | undefined;
  encoding: string;
}

type PartKind = "text" | "file" | "skipped";

/** Sorts the parts of one body into texts and files and counts their bytes. */
function createPartReader(acceptFile: AcceptFile) {
  const texts: TextPart[] = [];
  const files: Readable[] = [];
  /** Bytes of complete parts. The parser delivers bytes of a part some ticks after its begin, even after the next one began. */
  const complete: Record<PartKind, number> = { text: 0, file: 0, skipped: 0 };
  let open: { bytes: BusboyFileStream; kind: PartKind }[] = [];
  let bodyBytes = 0;
  /** Bytes outside parts at the end of the last chunk in which a part began. */
  let outsideAtPart = 0;
  let partBegan = false;
  const countParts = (): typeof complete => {
    const counted = { ...complete };
    for (const { bytes, kind } of open) {
      counted[kind] += bytes.bytesRead;
      if (bytes.readableEnded) complete[kind] += bytes.bytesRead;
    }
    open = open.filter(({ bytes }) => !bytes.readableEnded);
    return counted;
  };
  const begin = (bytes: BusboyFileStream, kind: PartKind): void => {
    open.push({ bytes, kind });
    partBegan = true;
  };
  return {
    texts,
    /** Counts a consumed chunk. Throws CallerError if the body is too large outside its files. */
    countBytes(more: number): void {
      bodyBytes += more;
      const { text, file, skipped } = countParts();
      const outside = bodyBytes - text - file - skipped;
      if (partBegan) outsideAtPart = outside;
      partBegan = false;
      if (outside - outsideAtPart > MAX_BYTES_BETWEEN_PARTS) throw malformedBody();
      if (text > MAX_REQUEST_BODY_BYTES || outside > MAX_BYTES_OUTSIDE_PARTS || skipped > MAX_SKIPPED_BYTES)
        throw bodyTooLarge();
    },
    openPart({ name, bytes, fileName, encoding }: OpenedPart, fail: (error: unknown) => void): void {
      // A part that is cut off emits an error; the parser reports it too.
      bytes.on("error", () => undefined);
      if (!name || name === "__proto__") throw malformedBody();
      if (!PLAIN_ENCODINGS.includes(encoding))
        throw new CallerError(
          "invalid-value",
          sentence("request.content-transfer-encoding-must-be-7bit-8bit-or-binary"),
        );
      if (fileName === undefined) {
        begin(bytes, "text");
        const chunks: Buffer[] = [];
        texts.push({ name, chunks });
        bytes.on("data", (chunk: Buffer) => chunks.push(chunk));
        return;
      }
      const textOf = (wanted: string): string | undefined => {
        const found = texts.find((text) => text.name === wanted);
        return found && Buffer.concat(found.chunks).toString("latin1");
      };
      const stored = acceptFile({ name, fileName, bytes }, textOf);
      begin(bytes, stored === null ? "skipped" : "file");
      if (stored === null) {
        bytes.resume();
        return;
      }
      files.push(bytes);
      stored.catch(fail);
    },
    close(): void {
      for (const bytes of files) bytes.destroy();
    },
  };
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new CallerError("invalid-value", sentence("request.the-body-must-be-utf-8"));
  }
}

function malformedBody(): CallerError {
  return new CallerError("invalid-value", sentence("request.the-body-is-malformed-or-truncated"));
}

function tooManyParts(): CallerError {
  return new CallerError("too-large", sentence("upload.the-body-must-have-at-most-max-parts", { max: MAX_PARTS }));
}

function bodyTooLarge(): CallerError {
  return new CallerError(
    "too-large",
    sentence("upload.the-body-must-have-at-most-max-bytes-without-its", { max: MAX_REQUEST_BODY_BYTES }),
  );
}

/** koa-body reports the cause of an error by HTTP status. */
function bodyErrorOf(error: unknown): unknown {
  if (error instanceof CallerError) return error;
  const { status = 500 } = error as { status?: number };
  if (status === 413) return bodyTooLarge();
  return status < 500 ? malformedBody() : error;
}
