import type { IncomingMessage } from "node:http";
import { Transform } from "node:stream";
import type { Clock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";

/** A window of this length … */
const WINDOW_MS = 30_000;
/** … must bring at least so much, else the sender is given up. */
const LEAST_BYTES = 1_024;

/** Bytes that a parser gets in one go; between two the event loop turns, since one piece may bring a thousand parts. */
const BYTES_PER_TURN = 8_192;

/**
 * The bytes of a request as they arrive. There is no limit on the time of the whole, only on standing still. The request
 * stays readable for the server when the reader leaves early. Throws CallerError when the sender is too slow or goes away.
 * @source interfaces.md, The network: upload time-outs are by progress. own choice: 1 KiB in 30 s
 */
export async function* arriving(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
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
export interface ArrivingStream {
  /** Fails with CallerError when the sender is too slow or goes away. */
  stream: Transform;
  /** To be called in every case, once nobody reads any more. The request stays readable for the server. */
  letGo(): void;
}

/** As `arriving`, for readers that take a stream; `look` sees each piece before the reader does. */
export function arrivingStream(request: IncomingMessage, clock: Clock, look: (piece: Buffer) => void): ArrivingStream {
  const watch = watchProgress(clock);
  const stream = new Transform({
    transform(piece: Buffer, _encoding, done) {
      watch.seen(piece.length);
      look(piece);
      const pass = (from: number): void => {
        stream.push(piece.subarray(from, from + BYTES_PER_TURN));
        if (from + BYTES_PER_TURN >= piece.length) done();
        else clock.soon(() => pass(from + BYTES_PER_TURN));
      };
      pass(0);
    },
  });
  const fail = (error: CallerError): void => void stream.destroy(error);
  const cut = (): void => {
    if (!request.readableEnded) fail(new CallerError("invalid-value", "The body ended too early."));
  };
  // Whoever has left does not want to know why it failed.
  stream.on("error", () => undefined);
  watch.tooSlow.catch(fail);
  request.once("close", cut);
  request.once("error", cut);
  request.pipe(stream);
  return {
    stream,
    letGo() {
      watch.end();
      request.off("close", cut);
      request.off("error", cut);
      request.unpipe(stream);
      stream.destroy();
    },
  };
}

function watchProgress(clock: Clock): { tooSlow: Promise<never>; seen(bytes: number): void; end(): void } {
  let bytes = 0;
  let giveUp: (error: CallerError) => void = () => undefined;
  const tooSlow = new Promise<never>((_resolve, reject) => {
    giveUp = reject;
  });
  // Nobody may wait for it when the time is over.
  tooSlow.catch(() => undefined);
  const look = (): void => {
    if (bytes < LEAST_BYTES) {
      giveUp(new CallerError("invalid-value", "The body arrives too slowly."));
      return;
    }
    bytes = 0;
    timer = clock.after(WINDOW_MS, look, { background: true });
  };
  let timer = clock.after(WINDOW_MS, look, { background: true });
  return {
    tooSlow,
    seen(more) {
      bytes += more;
    },
    end: () => timer.cancel(),
  };
}
