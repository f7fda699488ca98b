import { hash } from "node:crypto";
import { hashOf, type ProgrammeSpec, type WavSource } from "../audio/audio-worker.ts";
import type { Programme } from "../audio/programme.ts";
import { DRILL_SIGNAL } from "../audio/tone-segments.ts";
import { renderSegments } from "../audio/tones.ts";
import { encodeWav } from "../audio/wav.ts";
import { CallerError, UpstreamError } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import { stagesUntil } from "../resources/broadcasts/stages.ts";
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
type Audible = Pick<NotificationRow, "alertTone" | "audio" | "expiration" | "drill"> & Speakable & Configured & Spoken;

/** What tells whether somebody speaks it in person at this moment. */
type Spoken = Pick<NotificationRow, "id" | "initiationSourceType" | "streamEndedAt" | "retriedAt">;

/** What the field `initiationSourceType` says of live pages. own choice */
export const LIVE_PAGE = "live-page";

/** Ends what is told of a sound that could not be made. */
export const NO_SOUND = "The message goes on without this sound.";

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
 * How a message may sound, best first: tone and recording, then the tone alone, for when the recording can't be played. An
 * exercise says each time that it is one. own choice: the tone sounds whenever one is set, also for a message of words alone.
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
  const ways: ProgrammeSpec[] = [...(recording ? [{ ...layout, recording }] : []), { ...layout, recording: null }];
  const isAudibleAtAll = recording !== null || (message.alertTone ?? "silent") !== "silent";
  if (!message.drill || !isAudibleAtAll) return ways;
  const announcements = announcementsOf(message, speech, faults);
  return ways.flatMap((way) => announcements.map((announcement) => ({ ...way, announcement })));
}

/** What says that all is an exercise, best first: its word, then a signal that needs no voice. */
function announcementsOf(message: Speakable, speech: ProgrammeNeeds["speech"], faults: string[]): WavSource[] {
  try {
    const word = speech?.drillWord(message);
    if (word) return [{ sha256: word.key, read: () => word.speak() }, drillSignal()];
    faults.push(NO_WORD);
  } catch (error) {
    faults.push(`${wordsOf(error)} ${NO_WORD}`);
  }
  return [drillSignal()];
}

const NO_WORD = "A signal says that it is an exercise, since nothing can speak the word.";

function drillSignal(): WavSource {
  const wav = encodeWav(renderSegments(DRILL_SIGNAL));
  return { sha256: hash("sha256", wav, "hex"), read: () => wav };
}

/** Speech takes the place of a recording. own choice: a message with a recording is not spoken as well. */
function speechOf(message: Audible, speech: ProgrammeNeeds["speech"], faults: string[]): ProgrammeSpec["recording"] {
  if ((message.ttsType ?? "none") === "none") return null;
  try {
    const speaking = speech?.of(message) ?? null;
    if (!speech) faults.push(`Nothing can speak here. ${NO_SOUND}`);
    return speaking && { sha256: speaking.key, read: () => speaking.speak() };
  } catch (error) {
    faults.push(`${wordsOf(error)} ${NO_SOUND}`);
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
      return { programme: programme.packets > 0 ? programme : null, faults: [...new Set(faults)] };
    } catch (error) {
      faults.push(`${wordsOf(error)} ${NO_SOUND}`);
      needs.log.error({ err: error, tone: spec.tone }, "sound not prepared");
    }
  }
  return { programme: null, faults: [...new Set(faults)] };
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

/** Where the programme is not stored yet. */
const UNPREPARED: readonly (string | null)[] = ["draft", "approval", ...stagesUntil("queue")];

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
async function toneProgramme(tone: string, { audio }: Pick<ProgrammeNeeds, "audio">): Promise<Programme | null> {
  const once = { gapMs: GAP_MS, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const programme = await audio.prepare({ ...once, tone, recording: null });
  return programme.packets > 0 ? programme : null;
}

/**
 * What is heard before somebody speaks: the tone, and before it the word for an exercise; null for silence. Rejects with
 * CallerError for a tone there is not.
 */
export async function openingProgramme(
  message: Speakable & Pick<NotificationRow, "alertTone" | "drill">,
  { audio, speech }: Pick<ProgrammeNeeds, "audio" | "speech">,
): Promise<Programme | null> {
  const tone = message.alertTone ?? "silent";
  if (!message.drill) return toneProgramme(tone, { audio });
  const once = { gapMs: GAP_MS, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  for (const word of announcementsOf(message, speech, [])) {
    const isSilent = tone === "silent";
    const sound = isSilent ? { tone: null, recording: word } : { tone, recording: null, announcement: word };
    const programme = await audio.prepare({ ...once, ...sound }).catch(() => null);
    if (programme) return programme;
  }
  return toneProgramme(tone, { audio });
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
