import type { IncomingMessage } from "node:http";
import { Transform } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";

/** A window of this length … */
const PROGRESS_WINDOW_MS = 30_000;
/** … must bring at least so much, else the sender is given up. */
const MIN_BYTES_PER_WINDOW = 1_024;

/** Bytes that a parser gets in one go; between two the event loop turns, since one piece may bring a thousand parts. */
const CHUNK_BYTES = 8_192;

/**
 * The bytes of a request as they arrive. There is no limit on the time of the whole, only on standing still. The request
 * stays readable for the server when the reader leaves early. Throws CallerError when the sender is too slow or goes away.
 * @source interfaces.md, The network: upload time-outs are by progress. own choice: 1 KiB in 30 s
 */
export async function* readUpload(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
  const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  const watch = watchProgress(clock);
  try {
    for (;;) {
      const { value, done } = await Promise.race([chunks.next(), watch.tooSlow]);
      if (done) return;
      watch.seen((value as Buffer).length);
      yield value as Buffer;
    }
  } catch (error) {
    if (error instanceof CallerError) throw error;
    throw new CallerError("invalid-value", "The body ended too early.");
  } finally {
    watch.end();
    // Not awaited: a read that still waits for bytes would hold it up.
    void chunks.return?.();
  }
}

/** A request's bytes as a stream for those who want one. */
export interface UploadStream {
  /** Fails with CallerError when the sender is too slow or goes away. */
  stream: Transform;
  /** To be called in every case, once nobody reads any more. The request stays readable for the server. */
  release(): void;
}

/** As `arriving`, for readers that take a stream; `look` sees each piece before the reader does. */
export function openUploadStream(request: IncomingMessage, clock: Clock, look: (piece: Buffer) => void): UploadStream {
  const watch = watchProgress(clock);
  const stream = new Transform({
    transform(piece: Buffer, _encoding, done) {
      watch.seen(piece.length);
      look(piece);
      const pass = (from: number): void => {
        stream.push(piece.subarray(from, from + CHUNK_BYTES));
        if (from + CHUNK_BYTES >= piece.length) done();
        else clock.defer(() => pass(from + CHUNK_BYTES));
      };
      pass(0);
    },
  });
  const fail = (error: CallerError): void => void stream.destroy(error);
  const destroy = (): void => {
    if (!request.readableEnded) fail(new CallerError("invalid-value", "The body ended too early."));
  };
  // Whoever has left does not want to know why it failed.
  stream.on("error", () => undefined);
  watch.tooSlow.catch(fail);
  request.once("close", destroy);
  request.once("error", destroy);
  request.pipe(stream);
  return {
    stream,
    release() {
      watch.end();
      request.off("close", destroy);
      request.off("error", destroy);
      request.unpipe(stream);
      stream.destroy();
    },
  };
}

function watchProgress(clock: Clock): { tooSlow: Promise<never>; seen(bytes: number): void; end(): void } {
  let bytes = 0;
  let timeOut: (error: CallerError) => void = () => undefined;
  const tooSlow = new Promise<never>((_resolve, reject) => {
    timeOut = reject;
  });
  // Nobody may wait for it when the time is over.
  tooSlow.catch(() => undefined);
  const checkProgress = (): void => {
    if (bytes < MIN_BYTES_PER_WINDOW) {
      timeOut(new CallerError("invalid-value", "The body arrives too slowly."));
      return;
    }
    bytes = 0;
    timer = clock.after(PROGRESS_WINDOW_MS, checkProgress, { background: true });
  };
  let timer = clock.after(PROGRESS_WINDOW_MS, checkProgress, { background: true });
  return {
    tooSlow,
    seen(more) {
      bytes += more;
    },
    end: () => timer.cancel(),
  };
}
