import type { WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import { createFrameLanes } from "../frame-lanes.ts";
import type { Wire } from "../frames.ts";

/** Names the version of what is spoken; the highest that both sides know is chosen. @source replication.md 6 */
export const LINK_PROTOCOL = "carillon.1";
/** Longest frame, in bytes: pages are cut at 64 KiB, but for a row that is longer by itself. own choice */
export const MOST_FRAME_BYTES = 16 * 1024 * 1024;
/** A side that was silent for so long is not there any more, whatever its TCP says. @source replication.md 6, liveness */
const SILENT_MS = 45_000;
/** @source replication.md 6, liveness */
const BEAT_MS = 20_000;
/** The closing side waits so long for the other to agree. own choice */
const AGREE_MS = 1_000;
/** Our own codes begin at 4000. @source RFC 6455 7.4.2 */
const OURS = 4000;

/** What comes of a socket. */
export interface WireEnds {
  /** What JSON.parse gave; undefined for what is no JSON. */
  frame(value: unknown): void;
  /** Called once; `reason` as the other side gave it, or what broke. */
  closed(reason: string): void;
}

/**
 * Makes a wire of an open socket. A side that says nothing for 45 s is cut off; both say something every 20 s. Deflate is
 * off: it costs 230 KB for each connection.
 */
export function createSocketWire(
  socket: WebSocket,
  clock: Pick<Clock, "monotonicMs" | "every" | "after">,
  ends: WireEnds,
): Wire {
  let heardAt = clock.monotonicMs();
  let isEnded = false;
  const heard = (): void => {
    heardAt = clock.monotonicMs();
  };
  const beat = clock.every(BEAT_MS / 4, () => {
    if (clock.monotonicMs() - heardAt > SILENT_MS) return end("silent", true);
  });
  const ping = clock.every(BEAT_MS, () => socket.readyState === socket.OPEN && socket.ping());

  function end(reason: string, isDead: boolean): void {
    if (isDead) socket.terminate();
    if (isEnded) return;
    isEnded = true;
    beat.cancel();
    ping.cancel();
    ends.closed(reason);
  }

  socket.on("message", (data, isBinary) => {
    heard();
    ends.frame(isBinary ? undefined : parsed(data.toString()));
  });
  socket.on("ping", heard);
  socket.on("pong", heard);
  socket.on("error", (error) => end(error.message, true));
  socket.on("close", (code, reason) => end(reason.toString() || String(code), false));
  return createFrameLanes({
    // Told once the bytes left the process: what waits in there could not be overtaken any more.
    transmit: (frame, done) => socket.send(JSON.stringify(frame), () => done()),
    close(code) {
      socket.close(OURS, code);
      clock.after(AGREE_MS, () => socket.terminate(), { background: true });
    },
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
