import { CallerError, type ErrorType, type FieldError, UpstreamError } from "../../../../lib/errors.ts";
import { type Microphone, openMicrophone, peakOf } from "../../ui/recording/microphone.ts";

/** Why a live page is over. */
export type LivePageEnd = "finished" | "limit" | "stopped" | "unheard" | "lost";

/** Events for the speaker. */
export interface SpeakerEvents {
  /** The message is on its way to its devices. */
  onCalling(notificationId: string): void;
  /** The devices listen, and their tone ends in so many ms. */
  onSpeak(inMs: number): void;
  /** Loudest sample of the last 20 ms. */
  onLevel(peak: number): void;
  /** It is over; nothing follows. */
  onOver(reason: LivePageEnd): void;
  /** It was refused, in the API's words; nothing follows. */
  onRefused(error: unknown): void;
}

/** A live page in progress. */
export interface LivePage {
  /** The last word is spoken; `onOver` follows. */
  finish(): void;
  /** Ends all without a word. */
  cancel(): void;
}

/** A packet's worth at a time: less would be lost in what a packet costs, more would be heard later. */
const PIECE_MS = 20;

type Answer =
  | { state: "calling"; notificationId: string }
  | { state: "speak"; inMs: number }
  | { state: "over"; reason: LivePageEnd }
  | { state: "refused"; error: { type: ErrorType; message: string; errors?: FieldError[] } };

/** Opens the microphone, then the page. Rejects with MicrophoneError. */
export async function startLivePage(
  notification: object,
  domainId: string | null,
  events: SpeakerEvents,
): Promise<LivePage> {
  let socket: WebSocket | null = null;
  let over = false;
  const microphone: Microphone = await openMicrophone(PIECE_MS, (samples) => {
    events.onLevel(peakOf(samples));
    if (socket?.readyState === WebSocket.OPEN) socket.send(pcmOf(samples));
  });
  const end = (tell: () => void): void => {
    if (over) return;
    over = true;
    microphone.close();
    socket?.close();
    tell();
  };
  const hear = (answer: Answer): void => {
    if (answer.state === "calling") events.onCalling(answer.notificationId);
    else if (answer.state === "speak") events.onSpeak(answer.inMs);
    else if (answer.state === "over") end(() => events.onOver(answer.reason));
    else {
      const { type, message, errors = [] } = answer.error;
      end(() => events.onRefused(new CallerError(type, message, errors)));
    }
  };
  let isOpen = false;
  socket = new WebSocket(addressOf(domainId));
  socket.onopen = () => {
    isOpen = true;
    socket?.send(JSON.stringify({ notification, rateHz: microphone.rateHz }));
  };
  socket.onmessage = ({ data }) => hear(JSON.parse(String(data)) as Answer);
  // Browsers do not tell what a refused WebSocket was answered: most likely a right is missing.
  socket.onclose = () =>
    end(() => (isOpen ? events.onOver("lost") : events.onRefused(new UpstreamError("upstream", ""))));
  return {
    finish: () => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify({ finished: true })),
    cancel: () => end(() => {}),
  };
}

function addressOf(domainId: string | null): string {
  const url = new URL("/api/live-page", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  if (domainId !== null) url.searchParams.set("domain", domainId);
  return url.href;
}

/** Signed 16-bit samples, little-endian. */
function pcmOf(samples: Float32Array): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(2 * samples.length));
  for (const [i, sample] of samples.entries()) {
    view.setInt16(2 * i, Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))), true);
  }
  return view.buffer;
}
