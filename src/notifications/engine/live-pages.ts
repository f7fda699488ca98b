import { yieldToEventLoop } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { createLiveAudio, type LiveAudio } from "../../media/live-audio.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import { encodeWav } from "../../media/wav.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext } from "../../store/store.ts";
import { renderOpening } from "../compose/audio-rendering.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import type { LivePageHandle, LivePageState } from "../notification-service.ts";
import { type LivePageEndReason, LivePageSession } from "./live-page-session.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

/** The live pages in progress. */
export interface LivePageRegistry {
  /** The audio of a live page in progress; null for any other message. */
  renderedAudioOf(notificationId: string): RenderedAudio | null;
  /** Starts the session of an accepted live page, which must not be active yet. */
  open(row: NotificationRow, by: ActorContext, onStateChange: (state: LivePageState) => void): Promise<LivePageHandle>;
}

export interface LivePagesDeps
  extends Pick<PipelineStageDeps, "store" | "clock" | "events" | "log" | "audio" | "speech"> {
  /** Maximum length. */
  longestMs: number;
  /** Ends a message early. */
  abort(notificationId: string, by: ActorContext): Promise<unknown>;
}

const WAV = { fileName: "page.wav", maxBytes: 64 * 1_048_576, types: ["audio/wav"] };

export function createLivePageRegistry(deps: LivePagesDeps): LivePageRegistry {
  const { clock, events, log, longestMs } = deps;
  const active = new Map<string, LiveAudio>();

  const follow = (talk: LivePageSession, live: LiveAudio, id: string, by: ActorContext): void => {
    const over = (reason: LivePageEndReason) => (event: { notificationId: string }) => {
      if (event.notificationId !== id || !active.delete(id)) return;
      for (const forget of listening) forget();
      talk.close(reason);
      storeRecording(id, live, by, deps).catch((err) =>
        log.error(
          { event: "live_page.recording_failed", err, notificationId: id },
          "Recording of a live page could not be stored.",
        ),
      );
    };
    const listening = [
      events.on("notification.audio-started", (event) => event.notificationId === id && talk.start(event.at)),
      events.on("notification.audio-ended", over("finished")),
      events.on("notification.stopped", over("stopped")),
      events.on("notification.settled", over("unheard")),
    ];
  };

  return {
    renderedAudioOf: (notificationId) => active.get(notificationId)?.rendered ?? null,
    async open(row, by, onState) {
      const { id } = row;
      // A live page without its tone is better than none.
      const opening = await renderOpening(row, deps).catch(() => null);
      const live = createLiveAudio(`live-page/${id}`, opening, longestMs);
      const giveUp = (): void => {
        deps
          .abort(id, by)
          .catch((err) =>
            log.error({ event: "live_page.abort_failed", err, notificationId: id }, "Live page could not be ended."),
          );
      };
      const talk = new LivePageSession({ notificationId: id, clock, live, longestMs, onState, giveUp });
      active.set(id, live);
      follow(talk, live, id, by);
      return {
        notificationId: id,
        pushSamples: (samples) => talk.pushSamples(samples),
        finish: () => talk.end("finished"),
      };
    },
  };
}

/** Stores the speech as the message's recording. */
async function storeRecording(
  notificationId: string,
  live: LiveAudio,
  by: ActorContext,
  { store, clock }: Pick<LivePagesDeps, "store" | "clock">,
): Promise<void> {
  const pieces: Int16Array[] = [];
  for (const piece of live.recordedVoice()) {
    pieces.push(piece);
    await yieldToEventLoop(clock);
  }
  if (pieces.length === 0) return;
  const spoken = new Int16Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    spoken.set(piece, at);
    at += piece.length;
  }
  const wav = encodeWav(spoken);
  const upload = await store.files.put(singleChunk(wav), WAV);
  let kept = false;
  try {
    await store.write((tx) => tx.update(notifications, notificationId, {}, by, { audio: upload.file }));
    kept = true;
  } catch (error) {
    // If the message was deleted in the meantime, its recording is not needed.
    if (!(error instanceof CallerError)) throw error;
  } finally {
    store.files.release(upload, kept);
  }
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
