import type { IncomingMessage } from "node:http";
import type { Context } from "koa";
import type { koaBody } from "koa-body";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { openUploadStream, type UploadStream } from "./upload-stream.ts";

/** Most bytes of a body without its uploaded files. own choice: 1.5 MiB, room for the largest field with escapes. */
export const MAX_REQUEST_BODY_BYTES = 1_572_864;

/** What looks on while a body is read. */
export interface BodyObserver {
  /** Sees each piece before the parser does. */
  onChunk(piece: Buffer): void;
  /** Rejects to end the reading early; never resolves. */
  failed: Promise<never>;
  /** Told the stream at the begin, which may be paused. */
  onStart(stream: UploadStream["stream"]): void;
}

/**
 * What `parser` makes of a request's body. Throws CallerError for a body that is too large, malformed, cut off or
 * too slow.
 */
export async function parseBody(
  parser: ReturnType<typeof koaBody>,
  request: IncomingMessage,
  clock: Clock,
  onlooker?: BodyObserver,
): Promise<unknown> {
  const { stream, release } = openUploadStream(request, clock, (piece) => onlooker?.onChunk(piece));
  onlooker?.onStart(stream);
  const { headers } = request;
  // The parser gets no more of a context than this. Whether there is a body to read was decided before.
  const context = {
    req: Object.assign(stream, { headers }),
    request: { body: undefined as unknown },
    method: "POST",
    is: (types: string[]) => types.find((type) => headers["content-type"]?.toLowerCase().trim().startsWith(type)),
  };
  const parsed = parser(context as unknown as Context, async () => undefined);
  // Who fails first says why; nobody may wait for the other.
  parsed.catch(() => undefined);
  try {
    await (onlooker ? Promise.race([parsed, onlooker.failed]) : parsed);
    return context.request.body;
  } catch (error) {
    throw bodyErrorOf(error);
  } finally {
    release();
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** The text of bytes that were read as Latin-1. Throws CallerError when they are no UTF-8. */
export function decodeUtf8(bytes: string): string {
  try {
    return UTF8.decode(Buffer.from(bytes, "latin1"));
  } catch {
    throw new CallerError("invalid-value", "The body is not UTF-8.");
  }
}

/** What a body that is no well-formed multipart is answered with. */
export function malformedBody(): CallerError {
  return new CallerError("invalid-value", "The body is malformed or ends too early.");
}

/** What a body that is too large beside its files is answered with. */
export function bodyTooLarge(): CallerError {
  return new CallerError("too-large", `A body may have at most ${MAX_REQUEST_BODY_BYTES} bytes beside its files.`);
}

/** Parsers tell by HTTP status whose mistake it was. */
function bodyErrorOf(error: unknown): unknown {
  if (error instanceof CallerError) return error;
  const { status, httpCode } = error as { status?: number; httpCode?: number };
  const code = status ?? httpCode ?? 500;
  if (code === 413) return bodyTooLarge();
  // 501 stands for a transfer encoding that no browser uses.
  return code < 500 || code === 501 ? malformedBody() : error;
}
