import type { IncomingMessage } from "node:http";
import type { Context } from "koa";
import type { koaBody } from "koa-body";
import type { Clock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import { type ArrivingStream, arrivingStream } from "./arriving.ts";

/** Most bytes of a body without its uploaded files. own choice: 1.5 MiB, room for the largest field with escapes. */
export const MOST_BODY_BYTES = 1_572_864;

/** What looks on while a body is read. */
export interface Onlooker {
  /** Sees each piece before the parser does. */
  look(piece: Buffer): void;
  /** Rejects to end the reading early; never resolves. */
  failed: Promise<never>;
  /** Told the stream at the begin, which may be paused. */
  begins(stream: ArrivingStream["stream"]): void;
}

/**
 * What `parser` makes of a request's body. Throws CallerError for a body that is too large, malformed, cut off or
 * too slow.
 */
export async function readWith(
  parser: ReturnType<typeof koaBody>,
  request: IncomingMessage,
  clock: Clock,
  onlooker?: Onlooker,
): Promise<unknown> {
  const { stream, letGo } = arrivingStream(request, clock, (piece) => onlooker?.look(piece));
  onlooker?.begins(stream);
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
    throw faultOf(error);
  } finally {
    letGo();
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
export function malformed(): CallerError {
  return new CallerError("invalid-value", "The body is malformed or ends too early.");
}

/** What a body that is too large beside its files is answered with. */
export function tooLarge(): CallerError {
  return new CallerError("too-large", `A body may have at most ${MOST_BODY_BYTES} bytes beside its files.`);
}

/** Parsers tell by HTTP status whose mistake it was. */
function faultOf(error: unknown): unknown {
  if (error instanceof CallerError) return error;
  const { status, httpCode } = error as { status?: number; httpCode?: number };
  const code = status ?? httpCode ?? 500;
  if (code === 413) return tooLarge();
  // 501 stands for a transfer encoding that no browser uses.
  return code < 500 || code === 501 ? malformed() : error;
}
