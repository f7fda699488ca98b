import type { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { runAs } from "../../lib/current-work.ts";
import type { ControlMessage } from "../protocol/control-messages.ts";
import type { Frame, FrameTransport } from "../protocol/frames.ts";
import { compressFrame, DICTIONARY_NAME, decompressFrame, decompressFrameSync } from "./frame-compression.ts";
import { createPriorityMultiplexer } from "./priority-multiplexer.ts";

/**
 * Subprotocol with its version; the highest that both sides know is chosen.
 * @source docs/decisions/0040-replication.md, Section 6
 */
const PLAIN_PROTOCOL = "carillon.1";
/** The same with compressed frames. */
const COMPRESSED_PROTOCOL = `${PLAIN_PROTOCOL}+${DICTIONARY_NAME}`;
/** Subprotocols by preference. */
export const LINK_PROTOCOLS: readonly string[] = [COMPRESSED_PROTOCOL, PLAIN_PROTOCOL];
/**
 * Longest frame in bytes: pages are cut at 64 KiB, except for one longer row.
 * @source docs/decisions/0301-link-transport.md
 */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** @source docs/decisions/0040-replication.md, Section 6, liveness */
const PING_INTERVAL_MS = 20_000;
/**
 * Ping intervals of silence after which a side counts as dead: 45 s.
 * @source docs/decisions/0040-replication.md, Section 6
 */
const MAX_SILENT_PINGS = 2.25;
/**
 * TCP keepalive; reports a dead peer sooner where the system can.
 * @source docs/decisions/0040-replication.md, Section 6
 */
export const KEEP_ALIVE_MS = 15_000;
/** How long the closing side waits for the other's close frame. @source docs/decisions/0301-link-transport.md */
const CLOSE_TIMEOUT_MS = 1_000;
/** Private close codes start at 4000. @source RFC 6455 7.4.2 */
const CLOSE_CODE = 4000;
/**
 * Round trip of a slow link; low bandwidth shows in it, too, through queued data.
 * @source docs/decisions/0040-replication.md, Section 3
 */
const SLOW_ROUND_TRIP_MS = 20;
/** Shorter frames are not compressed. @source docs/decisions/0040-replication.md, Section 3 */
const MIN_COMPRESSED_LENGTH = 512;
/** Characters after which the round trip is measured again. @source docs/decisions/0301-link-transport.md */
const PROBE_EVERY_CHARACTERS = 256 * 1024;
/** Unacknowledged characters that delay others on a slow link. @source docs/decisions/0301-link-transport.md */
const LONG_FRAME_LENGTH = 8 * 1024;

/** Callbacks of a transport. */
export interface TransportHandlers {
  /** A message parsed as JSON; undefined if it is not JSON. */
  frame(value: unknown): void;
  /** Called once; `reason` is the close reason of the other side, or the error. */
  closed(reason: string): void;
}

/** A frame transport that also carries control messages. */
export interface LinkTransport extends FrameTransport {
  sendControl(message: ControlMessage): void;
}

export type TransportClock = Pick<Clock, "monotonicMs" | "every" | "after">;

/**
 * Transport over an open WebSocket. A side that is silent for 2.25 ping intervals is disconnected. permessage-deflate
 * is off: it costs 230 KB per connection. On a slow link long frames are compressed, and after 8 KiB the next bulk
 * frame waits until the other side has received those before, so that urgent frames do not queue behind them in kernel
 * buffers. Urgent frames never wait.
 */
export function createWebSocketTransport(
  socket: WebSocket,
  clock: TransportClock,
  handlers: TransportHandlers,
  pingIntervalMs = PING_INTERVAL_MS,
): LinkTransport {
  let heardAt = clock.monotonicMs();
  let isEnded = false;
  let roundTripMs = 0;
  let sinceProbe = 0;
  /** Characters sent on a slow link whose arrival is not confirmed. */
  let unconfirmed = 0;
  /** Callbacks by the ping that confirms the arrival of all that was sent before it. */
  const pendingPings = new Map<string, () => void>();
  let pings = 0;
  const mayCompress = socket.protocol === COMPRESSED_PROTOCOL;
  const inbound = createFrameReader(handlers.frame, (error) => end(error.message, true));

  const markHeard = (): void => {
    heardAt = clock.monotonicMs();
  };
  const silenceTimer = clock.every(pingIntervalMs / 4, () => {
    if (clock.monotonicMs() - heardAt > pingIntervalMs * MAX_SILENT_PINGS) return end("silent", true);
  });
  const pingTimer = clock.every(pingIntervalMs, () => probe());

  /** Pings; the pong confirms arrival and gives the round trip. */
  function probe(arrived: () => void = () => undefined): void {
    if (socket.readyState !== socket.OPEN) return;
    sinceProbe = 0;
    const name = `${++pings} ${clock.monotonicMs()}`;
    pendingPings.set(name, arrived);
    socket.ping(name);
  }

  function handlePong(data: Buffer): void {
    markHeard();
    const name = data.toString();
    const arrived = pendingPings.get(name);
    if (!arrived) return;
    pendingPings.delete(name);
    roundTripMs = clock.monotonicMs() - Number(name.split(" ")[1]);
    arrived();
  }

  function end(reason: string, isDead: boolean): void {
    if (isDead) socket.terminate();
    if (isEnded) return;
    isEnded = true;
    silenceTimer.cancel();
    pingTimer.cancel();
    pendingPings.clear();
    handlers.closed(reason);
  }

  /** `done` is called once the bytes left the process, on a slow link once they arrived. */
  async function transmit(frame: Frame | ControlMessage, done: () => void, left: () => void): Promise<void> {
    const text = JSON.stringify(frame);
    const isSlow = roundTripMs > SLOW_ROUND_TRIP_MS;
    const data = mayCompress && isSlow && text.length > MIN_COMPRESSED_LENGTH ? await compressFrame(text) : text;
    if (socket.readyState !== socket.OPEN) return;
    sinceProbe += data.length;
    unconfirmed = isSlow ? unconfirmed + data.length : 0;
    socket.send(data, () => {
      if (unconfirmed <= LONG_FRAME_LENGTH) {
        if (sinceProbe > PROBE_EVERY_CHARACTERS) probe();
        return done();
      }
      unconfirmed = 0;
      probe(done);
      left();
    });
  }

  socket.on("message", (data, isBinary) => {
    markHeard();
    runAs("replication", () => inbound(data as Buffer, isBinary));
  });
  socket.on("ping", markHeard);
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
 * Delivers messages in order although some are decompressed asynchronously. Small ones are handled synchronously: with
 * one event-loop turn each, an alert behind twenty pages would wait for all other work twenty times.
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

/** Null if it is too long for that. */
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
