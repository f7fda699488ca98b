import type { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import type { ControlMessage } from "../protocol/control-messages.ts";
import type { Frame, FrameTransport } from "../protocol/frames.ts";
import { compressFrame, DICTIONARY_NAME, decompressFrame, decompressFrameSync } from "./frame-compression.ts";
import { createPriorityMultiplexer } from "./priority-multiplexer.ts";

/** Names the version of what is spoken; the highest that both sides know is chosen. @source replication.md 6 */
const PLAIN_PROTOCOL = "carillon.1";
/** The same, where frames may be packed. */
const COMPRESSED_PROTOCOL = `${PLAIN_PROTOCOL}+${DICTIONARY_NAME}`;
/** What is spoken on links, the best first. */
export const LINK_PROTOCOLS: readonly string[] = [COMPRESSED_PROTOCOL, PLAIN_PROTOCOL];
/** Longest frame, in bytes: pages are cut at 64 KiB, but for a row that is longer by itself. own choice */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** How often each side says something. @source replication.md 6, liveness */
const PING_INTERVAL_MS = 20_000;
/** A side that was silent for so many beats is not there any more, whatever its TCP says. @source replication.md 6: 45 s */
const MAX_SILENT_PINGS = 2.25;
/** A system that knows sooner that nobody is there says so. @source replication.md 6, liveness */
export const KEEP_ALIVE_MS = 15_000;
/** The closing side waits so long for the other to agree. own choice */
const CLOSE_TIMEOUT_MS = 1_000;
/** Our own codes begin at 4000. @source RFC 6455 7.4.2 */
const CLOSE_CODE = 4000;
/** What a slow link is; a line of little breadth shows it too, by what is on its way. @source replication.md, amendments */
const SLOW_ROUND_TRIP_MS = 20;
/** Shorter frames are sent as they are. @source replication.md 3 */
const MIN_COMPRESSED_LENGTH = 512;
/** Characters after which it is looked how long the way is. own choice: at 10 Mbit/s a quarter of a second */
const PROBE_EVERY_CHARACTERS = 256 * 1024;
/** What is sent holds up others on a slow link once it has this length, in one frame or in several. own choice */
const LONG_FRAME_LENGTH = 8 * 1024;

/** What comes of a socket. */
export interface TransportHandlers {
  /** What JSON.parse gave; undefined for what is no JSON. */
  frame(value: unknown): void;
  /** Called once; `reason` as the other side gave it, or what broke. */
  closed(reason: string): void;
}

/** A wire that also carries what is said beside the feeds. */
export interface LinkTransport extends FrameTransport {
  sendControl(talk: ControlMessage): void;
}

/** What a wire needs of the clock. */
export type TransportClock = Pick<Clock, "monotonicMs" | "every" | "after">;

/**
 * Makes a wire of an open socket. A side that says nothing for 2¼ beats is cut off; both say something every beat.
 * WebSocket's own deflate is off: it costs 230 KB for each connection. On a slow link long frames are packed, and after 8 KiB
 * the next one waits until the other side has those before, so that nothing urgent queues behind them in the system's
 * buffers; what is urgent itself waits for nobody.
 */
export function createWebSocketTransport(
  socket: WebSocket,
  clock: TransportClock,
  ends: TransportHandlers,
  beatMs = PING_INTERVAL_MS,
): LinkTransport {
  let heardAt = clock.monotonicMs();
  let isEnded = false;
  let wayMs = 0;
  let sinceLook = 0;
  /** Bytes sent on a slow link of which it is not known that they arrived. */
  let unsure = 0;
  /** Those who wait to know that all that was sent before has arrived, by the ping that asks. */
  const asked = new Map<string, () => void>();
  let pings = 0;
  const mayPack = socket.protocol === COMPRESSED_PROTOCOL;
  const inbound = createFrameReader(ends.frame, (error) => end(error.message, true));

  const heard = (): void => {
    heardAt = clock.monotonicMs();
  };
  const watch = clock.every(beatMs / 4, () => {
    if (clock.monotonicMs() - heardAt > beatMs * MAX_SILENT_PINGS) return end("silent", true);
  });
  const beat = clock.every(beatMs, () => probe());

  /** Asks for a sign of life, which also says how long the way is. */
  function probe(arrived: () => void = () => undefined): void {
    if (socket.readyState !== socket.OPEN) return;
    sinceLook = 0;
    const name = `${++pings} ${clock.monotonicMs()}`;
    asked.set(name, arrived);
    socket.ping(name);
  }

  function handlePong(data: Buffer): void {
    heard();
    const name = data.toString();
    const arrived = asked.get(name);
    if (!arrived) return;
    asked.delete(name);
    wayMs = clock.monotonicMs() - Number(name.split(" ")[1]);
    arrived();
  }

  function end(reason: string, isDead: boolean): void {
    if (isDead) socket.terminate();
    if (isEnded) return;
    isEnded = true;
    watch.cancel();
    beat.cancel();
    asked.clear();
    ends.closed(reason);
  }

  /** `done` is called once the bytes left the process, on a slow link once they arrived: what is before an alert could not be overtaken. */
  async function transmit(frame: Frame | ControlMessage, done: () => void, left: () => void): Promise<void> {
    const text = JSON.stringify(frame);
    const isSlow = wayMs > SLOW_ROUND_TRIP_MS;
    const data = mayPack && isSlow && text.length > MIN_COMPRESSED_LENGTH ? await compressFrame(text) : text;
    if (socket.readyState !== socket.OPEN) return;
    sinceLook += data.length;
    unsure = isSlow ? unsure + data.length : 0;
    socket.send(data, () => {
      if (unsure <= LONG_FRAME_LENGTH) {
        if (sinceLook > PROBE_EVERY_CHARACTERS) probe();
        return done();
      }
      unsure = 0;
      probe(done);
      left();
    });
  }

  socket.on("message", (data, isBinary) => {
    heard();
    inbound(data as Buffer, isBinary);
  });
  socket.on("ping", heard);
  socket.on("pong", handlePong);
  socket.on("error", (error) => end(error.message, true));
  socket.on("close", (code, reason) => end(reason.toString() || String(code), false));
  probe();
  const lanes = createPriorityMultiplexer<Frame | ControlMessage>({
    transmit: (frame, ...then) => void transmit(frame, ...then).catch((error: Error) => end(error.message, true)),
    close(code) {
      socket.close(CLOSE_CODE, code);
      clock.after(CLOSE_TIMEOUT_MS, () => socket.terminate(), { background: true });
    },
  });
  return { ...lanes, sendControl: lanes.send };
}

/**
 * Hands on what comes in its order, though some of it is unpacked first: at once, for whatever takes a turn of its own before
 * it is handed on waits in each of them for all else that has turns, and an alert behind twenty pages for twenty times that.
 */
function createFrameReader(frame: (value: unknown) => void, failed: (error: Error) => void) {
  let waiting = 0;
  let last = Promise.resolve();

  function later(data: Buffer, isBinary: boolean): void {
    waiting += 1;
    last = last
      .then(async () => {
        const text = isBinary ? await decompressFrame(data, MAX_FRAME_BYTES) : data.toString();
        waiting -= 1;
        frame(parseJson(text));
      })
      .catch(failed);
  }

  return (data: Buffer, isBinary: boolean): void => {
    const text = waiting === 0 ? readFrameSync(data, isBinary) : null;
    if (text instanceof Error) failed(text);
    else if (text !== null) frame(parseJson(text));
    else later(data, isBinary);
  };
}

/** Null for what is too long for that. */
function readFrameSync(data: Buffer, isBinary: boolean): string | Error | null {
  try {
    return isBinary ? decompressFrameSync(data) : data.toString();
  } catch (error) {
    return error as Error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
