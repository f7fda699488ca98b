import { createLiveProgramme, type LiveProgramme } from "../audio/live-programme.ts";
import type { Programme } from "../audio/programme.ts";
import { encodeWav } from "../audio/wav.ts";
import { nextTurn } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import type { By } from "../store/store.ts";
import type { LivePage, LivePageState } from "./broadcaster.ts";
import type { NotificationRow } from "./compose.ts";
import { LiveTalk, type Over } from "./live-talk.ts";
import { openingProgramme } from "./programme.ts";
import type { StageNeeds } from "./stage.ts";

/** The live pages of this moment. */
export interface LivePages {
  /** What is heard of a live page that goes on; null for any other message. */
  programmeOf(notificationId: string): Programme | null;
  /** Takes up an accepted message that somebody speaks; it must not be on air yet. */
  open(row: NotificationRow, by: By, tell: (state: LivePageState) => void): Promise<LivePage>;
}

/** What live pages need. */
export interface LivePagesNeeds extends Pick<StageNeeds, "store" | "clock" | "events" | "log" | "audio" | "speech"> {
  /** How long one may speak. */
  longestMs: number;
  /** Ends a message before its time. */
  abort(notificationId: string, by: By): Promise<unknown>;
}

const WAV = { fileName: "page.wav", maxBytes: 64 * 1_048_576, types: ["audio/wav"] };

/** Makes the live pages: none goes on yet. */
export function createLivePages(needs: LivePagesNeeds): LivePages {
  const { clock, events, log, longestMs } = needs;
  const going = new Map<string, LiveProgramme>();

  const follow = (talk: LiveTalk, live: LiveProgramme, id: string, by: By): void => {
    const over = (reason: Over) => (event: { notificationId: string }) => {
      if (event.notificationId !== id || !going.delete(id)) return;
      for (const forget of listening) forget();
      talk.close(reason);
      keepWords(id, live, by, needs).catch((err) => log.error({ err, notificationId: id }, "words not kept"));
    };
    const listening = [
      events.on("sound.began", (event) => event.notificationId === id && talk.begin(event.at)),
      events.on("sound.ended", over("finished")),
      events.on("notification.stopped", over("stopped")),
      events.on("notification.settled", over("unheard")),
    ];
  };

  return {
    programmeOf: (notificationId) => going.get(notificationId)?.programme ?? null,
    async open(row, by, tell) {
      const { id } = row;
      // A page without its tone is better than none.
      const opening = await openingProgramme(row, needs).catch(() => null);
      const live = createLiveProgramme(`live-page/${id}`, opening, longestMs);
      const giveUp = (): void => {
        needs.abort(id, by).catch((err) => log.error({ err, notificationId: id }, "live page not ended"));
      };
      const talk = new LiveTalk({ notificationId: id, clock, live, longestMs, tell, giveUp });
      going.set(id, live);
      follow(talk, live, id, by);
      return { notificationId: id, take: (samples) => talk.take(samples), finish: () => talk.end("finished") };
    },
  };
}

/** What was said stays with the message as its recording. */
async function keepWords(
  notificationId: string,
  live: LiveProgramme,
  by: By,
  { store, clock }: Pick<LivePagesNeeds, "store" | "clock">,
): Promise<void> {
  const pieces: Int16Array[] = [];
  for (const piece of live.spoken()) {
    pieces.push(piece);
    await nextTurn(clock);
  }
  if (pieces.length === 0) return;
  const spoken = new Int16Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    spoken.set(piece, at);
    at += piece.length;
  }
  const wav = encodeWav(spoken);
  const upload = await store.files.put(onePiece(wav), WAV);
  let kept = false;
  try {
    await store.write((tx) => tx.update(notifications, notificationId, {}, by, { audio: upload.file }));
    kept = true;
  } catch (error) {
    // Who removed the message meanwhile wants no recording of it either.
    if (!(error instanceof CallerError)) throw error;
  } finally {
    store.files.release(upload, kept);
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
