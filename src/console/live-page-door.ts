import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../lib/clock.ts";
import { forbidden, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createStreamingResampler, LIVE_VOICE_RATES_HZ } from "../media/resample.ts";
import type { LivePageHandle, LivePageState, NotificationService } from "../notifications/notification-service.ts";
import type { ActorContext } from "../store/store.ts";

/** Live paging: one WebSocket for each speaker. */
export interface LivePageDoor {
  /** Upgrades the request of a user who may send live pages. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, by: ActorContext): void;
  /** Ends all connections; audio that was received is still sent. */
  stop(): void;
}

export interface LivePageDoorDeps {
  notificationService: Pick<NotificationService, "speak">;
  clock: Clock;
  /** An error as the API returns it. */
  explain(error: unknown): object;
}

/** Fields that need only the permission for live pages; others need the permission to send notifications. */
const SPOKEN_MEMBERS = new Set(["subject", "alertTone", "deviceGroupIds", "drill", "priority", "expiration"]);

/** First message of the speaker. */
interface Opening {
  /** As the body of `POST /notifications`. */
  notification: Record<string, unknown>;
  /** Sample rate of the audio that follows. */
  rateHz: number;
}

/** One second of audio at the highest rate. */
const MAX_PAYLOAD_BYTES = 2 * Math.max(...LIVE_VOICE_RATES_HZ);
/** Time to open the page after the upgrade: permissions are checked at the upgrade and may be revoked later. */
const MAX_WAIT_MS = 10_000;
/** Close codes. @source RFC 6455 §7.4; 4400 is private: the page was refused with a message */
const CLOSE = { normal: 1000, goingAway: 1001, refused: 4400 } as const;

/**
 * Creates the WebSocket server for live pages. The client sends `{"notification": {…}, "rateHz": 48000}`, then audio as
 * binary messages of signed 16-bit samples, little-endian, one channel, and `{"finished": true}` at the end; closing the
 * connection ends the page too. The server sends `{"state": "calling", "notificationId", "seconds"}`,
 * `{"state": "speak", "inMs"}`, `{"state": "over", "reason"}`, or `{"state": "refused", "error"}` with the API's error.
 */
export function createLivePageDoor(needs: LivePageDoorDeps): LivePageDoor {
  const server = new WebSocketServer({ noServer: true, maxPayload: MAX_PAYLOAD_BYTES, perMessageDeflate: false });
  const sockets = new Set<WebSocket>();
  return {
    accept(request, socket, head, by) {
      server.handleUpgrade(request, socket, head, (opened) => {
        sockets.add(opened);
        opened.on("close", () => sockets.delete(opened));
        // A connection error ends the connection and its page.
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
  const waiting = needs.clock.after(MAX_WAIT_MS, () => socket.terminate());
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
      // Audio before the page is accepted is dropped, like audio before the end of its tone.
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
    throw invalidValue("rateHz", sentence("field.must-be-one-of-values", { values: LIVE_VOICE_RATES_HZ.join(", ") }));
  }
  if (typeof notification !== "object" || notification === null || Array.isArray(notification)) {
    throw invalidValue("notification", sentence("field.must-be-an-object-like-the-body-of-post-notifications"));
  }
  const message = notification as Record<string, unknown>;
  if (message.audio !== undefined)
    throw invalidValue("notification.audio", sentence("field.must-not-be-given-a-live-page-has-no-recording"));
  // Permission to speak to devices includes neither messages to people nor emergencies.
  const isMore = message.priority === "critical" || Object.keys(message).some((name) => !SPOKEN_MEMBERS.has(name));
  if (isMore && !scope.allows("post", "/notifications")) throw forbidden();
  return { notification: message, rateHz };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw invalidValue("notification", sentence("field.the-first-message-must-be-a-json-object"));
}

/** An odd last byte is dropped. */
function samplesOf(data: RawData): Float32Array {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
  const samples = new Float32Array(bytes.length >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i) / 32_768;
  return samples;
}
