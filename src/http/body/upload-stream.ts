import type { IncomingMessage } from "node:http";
import { Transform } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";

/** Interval in which progress is checked. */
const PROGRESS_WINDOW_MS = 30_000;
/** Minimum bytes per window; slower uploads are aborted. */
const MIN_BYTES_PER_WINDOW = 1_024;

/** Bytes passed to a parser per event loop turn, because one chunk may contain a thousand parts. */
const CHUNK_BYTES = 8_192;

/**
 * Reads the body of a request as it arrives. The timeout is by progress, not by total time. The request stays
 * readable for the server if the reader stops early. Throws CallerError if the client is too slow or disconnects.
 * @source docs/decisions/0024-network.md
 */
export async function* readUpload(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
  const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  const watch = watchProgress(clock);
  try {
    for (;;) {
      const { value, done } = await Promise.race([chunks.next(), watch.tooSlow]);
      if (done) return;
      watch.addBytes((value as Buffer).length);
      yield value as Buffer;
    }
  } catch (error) {
    if (error instanceof CallerError) throw error;
    throw new CallerError("invalid-value", sentence("upload.the-body-is-truncated"));
  } finally {
    watch.end();
    // Not awaited: a pending read would block it.
    void chunks.return?.();
  }
}

/** The body of a request as a stream. */
interface UploadStream {
  /** Fails with CallerError if the client is too slow or disconnects. */
  stream: Transform;
  /** Must always be called after reading. The request stays readable for the server. */
  release(): void;
}

/** Same as `readUpload`, as a stream. */
export function openUploadStream(request: IncomingMessage, clock: Clock): UploadStream {
  const watch = watchProgress(clock);
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      watch.addBytes(chunk.length);
      const pass = (from: number): void => {
        stream.push(chunk.subarray(from, from + CHUNK_BYTES));
        if (from + CHUNK_BYTES >= chunk.length) done();
        else clock.defer(() => pass(from + CHUNK_BYTES));
      };
      pass(0);
    },
  });
  const fail = (error: CallerError): void => void stream.destroy(error);
  const destroy = (): void => {
    if (!request.readableEnded) fail(new CallerError("invalid-value", sentence("upload.the-body-is-truncated")));
  };
  // The client is gone; the error is irrelevant.
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

function watchProgress(clock: Clock): { tooSlow: Promise<never>; addBytes(bytes: number): void; end(): void } {
  let bytes = 0;
  let timeOut: (error: CallerError) => void = () => undefined;
  const tooSlow = new Promise<never>((_resolve, reject) => {
    timeOut = reject;
  });
  // Avoids an unhandled rejection.
  tooSlow.catch(() => undefined);
  const checkProgress = (): void => {
    if (bytes < MIN_BYTES_PER_WINDOW) {
      timeOut(new CallerError("invalid-value", sentence("upload.the-upload-timed-out-the-body-arrives-too-slowly")));
      return;
    }
    bytes = 0;
    timer = clock.after(PROGRESS_WINDOW_MS, checkProgress, { background: true });
  };
  let timer = clock.after(PROGRESS_WINDOW_MS, checkProgress, { background: true });
  return {
    tooSlow,
    addBytes(more) {
      bytes += more;
    },
    end: () => timer.cancel(),
  };
}
