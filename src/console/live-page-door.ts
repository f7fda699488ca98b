import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../lib/clock.ts";
import { forbidden, invalidValue } from "../lib/errors.ts";
import { createStreamingResampler, LIVE_VOICE_RATES_HZ } from "../media/resample.ts";
import type { LivePageHandle, LivePageState, NotificationService } from "../notifications/notification-service.ts";
import type { ActorContext } from "../store/store.ts";

/** Where people speak live, by a WebSocket each. */
export interface LivePageDoor {
  /** Makes a WebSocket of the request of somebody who may speak live. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, by: ActorContext): void;
  /** Ends all connections; what was said is sent to its end. */
  stop(): void;
}

/** What the door needs. */
export interface LivePageDoorDeps {
  notificationService: Pick<NotificationService, "speak">;
  clock: Clock;
  /** An error as the API would answer it. */
  explain(error: unknown): object;
}

/** What of a message belongs to speaking alone; the rest needs the right to send. */
const SPOKEN_MEMBERS = new Set(["subject", "alertTone", "deviceGroupIds", "drill", "priority", "expiration"]);

/** The first message of who speaks. */
interface Opening {
  /** As the body of `POST /notifications`. */
  notification: Record<string, unknown>;
  /** Samples a second of what follows. */
  rateHz: number;
}

/** A second of sound at the highest rate. */
const MOST_PAYLOAD_BYTES = 2 * Math.max(...LIVE_VOICE_RATES_HZ);
/** Whoever has a right now may have lost it later: the page is opened at once, or never. own choice */
const LONGEST_WAIT_MS = 10_000;
/** Close codes. @source RFC 6455 §7.4; 4400 is our own: the page was refused in words */
const CLOSE = { normal: 1000, goingAway: 1001, refused: 4400 } as const;

/**
 * Opens the door. Who speaks sends `{"notification": {…}, "rateHz": 48000}`, then the voice as binary messages of signed
 * 16-bit samples, little-endian, one channel, and `{"finished": true}` at the end; going away ends a page too. The answers:
 * `{"state": "calling", "notificationId", "seconds"}`, `{"state": "speak", "inMs"}`, `{"state": "over", "reason"}`, or
 * `{"state": "refused", "error"}` with the error as the API gives it. own choice
 */
export function createLivePageDoor(needs: LivePageDoorDeps): LivePageDoor {
  const server = new WebSocketServer({ noServer: true, maxPayload: MOST_PAYLOAD_BYTES, perMessageDeflate: false });
  const sockets = new Set<WebSocket>();
  return {
    accept(request, socket, head, by) {
      server.handleUpgrade(request, socket, head, (opened) => {
        sockets.add(opened);
        opened.on("close", () => sockets.delete(opened));
        // What is wrong with a connection ends it, and the page with it.
        opened.on("error", () => undefined);
        serve(opened, by, needs);
      });
    },
    stop() {
      for (const socket of sockets) {
        socket.close(CLOSE.goingAway);
        socket.terminate();
      }
      server.close();
    },
  };
}

function serve(socket: WebSocket, by: ActorContext, needs: LivePageDoorDeps): void {
  let page: Promise<LivePageHandle> | null = null;
  let hear: ((voice: RawData) => void) | null = null;
  const waiting = needs.clock.after(LONGEST_WAIT_MS, () => socket.terminate());
  const refuse = (error: unknown): void => {
    tell(socket, { state: "refused", error: needs.explain(error) });
    socket.close(CLOSE.refused);
  };
  const open = (text: string): void => {
    waiting.cancel();
    const { notification, rateHz } = openingOf(text, by);
    const listen = createStreamingResampler(rateHz);
    page = needs.notificationService.speak(notification, by, { source: "api" }, (state) => follow(socket, state));
    page
      .then((speaking) => {
        tell(socket, { state: "calling", notificationId: speaking.notificationId });
        hear = (voice) => void speaking.pushSamples(listen(samplesOf(voice)));
      })
      .catch(refuse);
  };
  const finish = (): void => void page?.then((speaking) => speaking.finish()).catch(() => undefined);
  socket.on("message", (data, isBinary) => {
    try {
      // What is said before the page is accepted is lost like what is said before its tone has ended.
      if (isBinary) hear?.(data);
      else if (page === null) open(String(data));
      else finish();
    } catch (error) {
      refuse(error);
    }
  });
  socket.on("close", () => {
    waiting.cancel();
    finish();
  });
}

function follow(socket: WebSocket, state: LivePageState): void {
  tell(socket, state);
  if (state.state === "over") socket.close(CLOSE.normal);
}

function tell(socket: WebSocket, message: object): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}

function openingOf(text: string, { scope }: ActorContext): Opening {
  const { notification, rateHz } = objectOf(text);
  if (typeof rateHz !== "number" || !LIVE_VOICE_RATES_HZ.includes(rateHz)) {
    throw invalidValue("rateHz", `It is one of ${LIVE_VOICE_RATES_HZ.join(", ")}.`);
  }
  if (typeof notification !== "object" || notification === null || Array.isArray(notification)) {
    throw invalidValue("notification", "It is an object as the body of POST /notifications.");
  }
  const message = notification as Record<string, unknown>;
  if (message.audio !== undefined) throw invalidValue("notification.audio", "What is spoken live has no recording.");
  // Who may speak to devices may not therefore write to people, or raise an alarm.
  const isMore = message.priority === "critical" || Object.keys(message).some((name) => !SPOKEN_MEMBERS.has(name));
  if (isMore && !scope.allows("post", "/notifications")) throw forbidden();
  return { notification: message, rateHz };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw invalidValue("notification", "The first message is a JSON object.");
}

/** A byte too many is left out. */
function samplesOf(data: RawData): Float32Array {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
  const samples = new Float32Array(bytes.length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i) / 32_768;
  return samples;
}
