import type { IncomingMessage } from "node:http";
import type { Context } from "koa";
import type { koaBody } from "koa-body";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { openUploadStream, type UploadStream } from "./upload-stream.ts";

/** Maximum size of a body without its uploaded files: 1.5 MiB, enough for the largest field with escapes. */
export const MAX_REQUEST_BODY_BYTES = 1_572_864;

/** Observes the body while it is read. */
export interface BodyObserver {
  /** Receives each chunk before the parser. */
  onChunk(chunk: Buffer): void;
  /** Rejects to stop reading; never resolves. */
  failed: Promise<never>;
  /** Receives the stream at the start; it may be paused. */
  onStart(stream: UploadStream["stream"]): void;
}

/** Parses the body of a request. Throws CallerError if it is too large, malformed, truncated or too slow. */
export async function parseBody(
  parser: ReturnType<typeof koaBody>,
  request: IncomingMessage,
  clock: Clock,
  observer?: BodyObserver,
): Promise<unknown> {
  const { stream, release } = openUploadStream(request, clock, (chunk) => observer?.onChunk(chunk));
  observer?.onStart(stream);
  const { headers } = request;
  // Minimal koa context: the parser uses nothing else. Whether there is a body was checked before.
  const context = {
    req: Object.assign(stream, { headers }),
    request: { body: undefined as unknown },
    method: "POST",
    is: (types: string[]) => types.find((type) => headers["content-type"]?.toLowerCase().trim().startsWith(type)),
  };
  const parsed = parser(context as unknown as Context, async () => undefined);
  // The first failure wins; the other promise must not cause an unhandled rejection.
  parsed.catch(() => undefined);
  try {
    await (observer ? Promise.race([parsed, observer.failed]) : parsed);
    return context.request.body;
  } catch (error) {
    throw bodyErrorOf(error);
  } finally {
    release();
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8 from a Latin-1 string. Throws CallerError for invalid UTF-8. */
export function decodeUtf8(bytes: string): string {
  try {
    return UTF8.decode(Buffer.from(bytes, "latin1"));
  } catch {
    throw new CallerError("invalid-value", "The body must be UTF-8.");
  }
}

/** Error of a body that cannot be parsed. */
export function malformedBody(): CallerError {
  return new CallerError("invalid-value", "The body is malformed or truncated.");
}

/** Error of a body whose fields exceed the size limit. */
export function bodyTooLarge(): CallerError {
  return new CallerError("too-large", `The body must have at most ${MAX_REQUEST_BODY_BYTES} bytes without its files.`);
}

/** Parsers report the cause of an error by HTTP status. */
function bodyErrorOf(error: unknown): unknown {
  if (error instanceof CallerError) return error;
  const { status, httpCode } = error as { status?: number; httpCode?: number };
  const code = status ?? httpCode ?? 500;
  if (code === 413) return bodyTooLarge();
  // 501: unsupported transfer encoding.
  return code < 500 || code === 501 ? malformedBody() : error;
}
