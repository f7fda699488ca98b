import type { ProgrammeSpec } from "../audio/audio-worker.ts";
import { type Programme, programmeHash } from "../audio/programme.ts";
import { encodeWav } from "../audio/wav.ts";
import { CallerError, UpstreamError } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import type { StoredFile } from "../schema/field.ts";
import type { FileStore } from "../store/store.ts";
import type { NotificationRow } from "./compose.ts";
import { type Configured, sendingProfileOf } from "./sending-profile.ts";
import type { Speakable } from "./speech.ts";
import type { StageNeeds } from "./stage.ts";

/** Silence between alert tone and recording. own choice */
const GAP_MS = 500;
const LONGEST_FILL_MS = 600_000;

/** What of a message decides how it sounds. */
type Audible = Pick<NotificationRow, "alertTone" | "audio" | "expiration"> & Speakable & Configured & Spoken;

/** What tells whether somebody speaks it in person at this moment. */
type Spoken = Pick<NotificationRow, "id" | "initiationSourceType" | "streamEndedAt" | "retriedAt">;

/** What the field `initiationSourceType` says of live pages. own choice */
export const LIVE_PAGE = "live-page";

/** A live page that was not spoken to its end: nothing else is heard of it. */
function isBeingSpoken({ initiationSourceType, streamEndedAt, retriedAt }: Spoken): boolean {
  return initiationSourceType === LIVE_PAGE && streamEndedAt === null && retriedAt === null;
}

/** A prepared programme, null when nothing is audible; `faults` says in words what had to be left out of it. */
export interface PreparedSound {
  programme: Programme | null;
  faults: string[];
}

/** What making a programme needs. */
export interface ProgrammeNeeds {
  store: { files: FileStore };
  audio: StageNeeds["audio"];
  speech?: StageNeeds["speech"];
  livePages?: StageNeeds["livePages"];
  log: StageNeeds["log"];
}

/**
 * How a message may sound, best first: tone and recording, then the tone alone, for when the recording can't be played.
 * own choice: the tone sounds whenever one is set, also for a message of words alone.
 */
function soundsOf(message: Audible, { store: { files }, speech }: ProgrammeNeeds, faults: string[]): ProgrammeSpec[] {
  const { repetitions, repetitionPauseMs, repeatIndefinitely, isAudible } = sendingProfileOf(message);
  if (!isAudible) return [];
  const layout = {
    tone: message.alertTone,
    gapMs: GAP_MS,
    repetitions,
    repetitionPauseMs,
    volumeDb: 0,
    ...(repeatIndefinitely ? { fillMs: fillMs(message) } : {}),
  };
  const { audio } = message;
  const spoken = audio ? null : speechOf(message, speech, faults);
  const recording = audio ? { sha256: audio.sha256, read: () => files.read(audio) } : spoken;
  const plain: ProgrammeSpec = { ...layout, recording: null };
  return recording ? [{ ...layout, recording }, plain] : [plain];
}

/** Speech takes the place of a recording. own choice: a message with a recording is not spoken as well. */
function speechOf(message: Audible, speech: ProgrammeNeeds["speech"], faults: string[]): ProgrammeSpec["recording"] {
  if ((message.ttsType ?? "none") === "none") return null;
  try {
    const speaking = speech?.of(message) ?? null;
    if (!speech) faults.push("Nothing can speak here.");
    return speaking && { sha256: speaking.key, read: () => speaking.speak() };
  } catch (error) {
    faults.push(wordsOf(error));
    return null;
  }
}

/** own choice: until the message expires, ten minutes at most. */
function fillMs({ expiration }: Audible): number {
  return Math.min(LONGEST_FILL_MS, (expiration ?? LONGEST_FILL_MS) * 1_000);
}

/** Makes what is heard of a message. Never rejects: what can't be made is left out and told in words. */
export async function prepareSound(message: Audible, needs: ProgrammeNeeds): Promise<PreparedSound> {
  const faults: string[] = [];
  if (isBeingSpoken(message)) return { programme: needs.livePages?.programmeOf(message.id) ?? null, faults };
  for (const spec of soundsOf(message, needs, faults)) {
    try {
      const programme = await needs.audio.prepare(spec);
      return { programme: programme.packets > 0 ? programme : null, faults };
    } catch (error) {
      faults.push(wordsOf(error));
      needs.log.error({ err: error, tone: spec.tone }, "sound not prepared");
    }
  }
  return { programme: null, faults };
}

function wordsOf(error: unknown): string {
  if (error instanceof CallerError || error instanceof UpstreamError) return error.message;
  return "The sound could not be made.";
}

/** The programme that a prepared message is sent with, made again if it is not remembered; null when nothing is audible. */
export async function programmeFor(
  row: Audible & Pick<NotificationRow, "programmeSha">,
  needs: ProgrammeNeeds,
): Promise<Programme | null> {
  if (row.programmeSha === null) return null;
  if (isBeingSpoken(row)) return needs.livePages?.programmeOf(row.id) ?? null;
  const specs = soundsOf(row, needs, []);
  const spec = specs.find((candidate) => hashOf(candidate) === row.programmeSha);
  return spec ? needs.audio.prepare(spec) : (await prepareSound(row, needs)).programme;
}

function hashOf({ recording, ...layout }: ProgrammeSpec): string {
  return programmeHash(layout, recording?.sha256 ?? null);
}

/** Stages before the programme is stored. */
const UNPREPARED: readonly (string | null)[] = ["draft", "resolve", "partition", "prepare"];

/** What is played of a notification, as 8 kHz 16-bit mono WAV; null when nothing is audible or there is no such notification. */
export async function programmeOf(
  notificationId: string,
  needs: Pick<StageNeeds, "store" | "audio" | "log" | "livePages">,
): Promise<Uint8Array | null> {
  const row = needs.store.get(notifications, notificationId);
  if (!row) return null;
  const made = UNPREPARED.includes(row.stage)
    ? (await prepareSound(row, needs)).programme
    : await programmeFor(row, needs);
  return made && encodeWav(made.pcm);
}

/** An alert tone as it is played; null for silence. Rejects with CallerError for a tone there is not. */
export async function toneProgramme(tone: string, { audio }: Pick<ProgrammeNeeds, "audio">): Promise<Programme | null> {
  const once = { gapMs: GAP_MS, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const programme = await audio.prepare({ ...once, tone, recording: null });
  return programme.packets > 0 ? programme : null;
}

/** The same as a file: 8 kHz 16-bit mono WAV. */
export async function toneAudio(tone: string, needs: Pick<ProgrammeNeeds, "audio">): Promise<Uint8Array | null> {
  const programme = await toneProgramme(tone, needs);
  return programme && encodeWav(programme.pcm);
}

/** A recording by itself as it would be played, 8 kHz 16-bit mono WAV. Rejects with CallerError for one that can't be played. */
export async function recordingAudio(
  recording: StoredFile,
  { audio, store }: Pick<ProgrammeNeeds, "audio" | "store">,
): Promise<Uint8Array> {
  const once = { tone: null, gapMs: 0, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const source = { sha256: recording.sha256, read: () => store.files.read(recording) };
  return encodeWav((await audio.prepare({ ...once, recording: source })).pcm);
}

/** Absolute path of the picture that goes with a message, null without one. */
export function imagePathOf(message: Pick<NotificationRow, "image">, files: FileStore): string | null {
  return message.image && files.pathOf(message.image);
}
