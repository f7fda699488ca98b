import { hash } from "node:crypto";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import { type AudioSpec, audioSpecHash, type WavSource } from "../../media/audio-renderer.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import { DRILL_SIGNAL } from "../../media/tone-segments.ts";
import { renderSegments } from "../../media/tones.ts";
import { encodeWav } from "../../media/wav.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { stagesBefore } from "../../resources/notifications/pipeline-stages.ts";
import type { StoredFile } from "../../schema/field.ts";
import type { FileStore } from "../../store/store.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import type { NotificationRow } from "./message-builder.ts";
import { type MessageSettings, parseSendingProfile } from "./sending-profile.ts";
import type { SpeakableMessage } from "./speech-synthesis.ts";

/** Silence between alert tone and recording. own choice */
const GAP_MS = 500;
const LONGEST_FILL_MS = 600_000;

/** What of a message decides how it sounds. */
type AudibleMessage = Pick<NotificationRow, "alertTone" | "audio" | "expiration" | "drill"> &
  SpeakableMessage &
  MessageSettings &
  LivePageStatus;

/** What tells whether somebody speaks it in person at this moment. */
type LivePageStatus = Pick<NotificationRow, "id" | "initiationSourceType" | "streamEndedAt" | "retriedAt">;

/** What the field `initiationSourceType` says of live pages. own choice */
export const LIVE_PAGE = "live-page";

/** Ends what is told of a sound that could not be made. */
export const WITHOUT_SOUND_SUFFIX = "The message goes on without this sound.";

/** A live page that was not spoken to its end: nothing else is heard of it. */
function isLivePageInProgress({ initiationSourceType, streamEndedAt, retriedAt }: LivePageStatus): boolean {
  return initiationSourceType === LIVE_PAGE && streamEndedAt === null && retriedAt === null;
}

/** A prepared programme, null when nothing is audible; `faults` says in words what had to be left out of it. */
export interface PreparedAudio {
  programme: RenderedAudio | null;
  faults: string[];
}

/** What making a programme needs. */
export interface AudioRenderingDeps {
  store: { files: FileStore };
  audio: PipelineStageDeps["audio"];
  speech?: PipelineStageDeps["speech"];
  livePages?: PipelineStageDeps["livePages"];
  log: PipelineStageDeps["log"];
}

/**
 * How a message may sound, best first: tone and recording, then the tone alone, for when the recording can't be played. An
 * exercise says each time that it is one. own choice: the tone sounds whenever one is set, also for a message of words alone.
 */
function audioCandidates(
  message: AudibleMessage,
  { store: { files }, speech }: AudioRenderingDeps,
  faults: string[],
): AudioSpec[] {
  const { repetitions, repetitionPauseMs, repeatIndefinitely, isAudible } = parseSendingProfile(message);
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
  const ways: AudioSpec[] = [...(recording ? [{ ...layout, recording }] : []), { ...layout, recording: null }];
  const isAudibleAtAll = recording !== null || (message.alertTone ?? "silent") !== "silent";
  if (!message.drill || !isAudibleAtAll) return ways;
  const announcements = announcementsOf(message, speech, faults);
  return ways.flatMap((way) => announcements.map((announcement) => ({ ...way, announcement })));
}

/** What says that all is an exercise, best first: its word, then a signal that needs no voice. */
function announcementsOf(
  message: SpeakableMessage,
  speech: AudioRenderingDeps["speech"],
  faults: string[],
): WavSource[] {
  try {
    const word = speech?.drillAnnouncement(message);
    if (word) return [{ sha256: word.key, read: () => word.speak() }, drillSignal()];
    faults.push(NO_DRILL_ANNOUNCEMENT);
  } catch (error) {
    faults.push(`${wordsOf(error)} ${NO_DRILL_ANNOUNCEMENT}`);
  }
  return [drillSignal()];
}

const NO_DRILL_ANNOUNCEMENT = "A signal says that it is an exercise, since nothing can speak the word.";

function drillSignal(): WavSource {
  const wav = encodeWav(renderSegments(DRILL_SIGNAL));
  return { sha256: hash("sha256", wav, "hex"), read: () => wav };
}

/** Speech takes the place of a recording. own choice: a message with a recording is not spoken as well. */
function speechOf(
  message: AudibleMessage,
  speech: AudioRenderingDeps["speech"],
  faults: string[],
): AudioSpec["recording"] {
  if ((message.ttsType ?? "none") === "none") return null;
  try {
    const speaking = speech?.synthesize(message) ?? null;
    if (!speech) faults.push(`Nothing can speak here. ${WITHOUT_SOUND_SUFFIX}`);
    return speaking && { sha256: speaking.key, read: () => speaking.speak() };
  } catch (error) {
    faults.push(`${wordsOf(error)} ${WITHOUT_SOUND_SUFFIX}`);
    return null;
  }
}

/** own choice: until the message expires, ten minutes at most. */
function fillMs({ expiration }: AudibleMessage): number {
  return Math.min(LONGEST_FILL_MS, (expiration ?? LONGEST_FILL_MS) * 1_000);
}

/** Makes what is heard of a message. Never rejects: what can't be made is left out and told in words. */
export async function prepareAudio(message: AudibleMessage, needs: AudioRenderingDeps): Promise<PreparedAudio> {
  const faults: string[] = [];
  if (isLivePageInProgress(message)) return { programme: needs.livePages?.programmeOf(message.id) ?? null, faults };
  for (const spec of audioCandidates(message, needs, faults)) {
    try {
      const programme = await needs.audio.prepare(spec);
      return { programme: programme.packets > 0 ? programme : null, faults: [...new Set(faults)] };
    } catch (error) {
      faults.push(`${wordsOf(error)} ${WITHOUT_SOUND_SUFFIX}`);
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
export async function renderedAudioFor(
  row: AudibleMessage & Pick<NotificationRow, "programmeSha">,
  needs: AudioRenderingDeps,
): Promise<RenderedAudio | null> {
  if (row.programmeSha === null) return null;
  if (isLivePageInProgress(row)) return needs.livePages?.programmeOf(row.id) ?? null;
  const specs = audioCandidates(row, needs, []);
  const spec = specs.find((candidate) => audioSpecHash(candidate) === row.programmeSha);
  return spec ? needs.audio.prepare(spec) : (await prepareAudio(row, needs)).programme;
}

/** Where the programme is not stored yet. */
const UNPREPARED: readonly (string | null)[] = ["draft", "approval", ...stagesBefore("queue")];

/** What is played of a notification, as 8 kHz 16-bit mono WAV; null when nothing is audible or there is no such notification. */
export async function renderedWavOf(
  notificationId: string,
  needs: Pick<PipelineStageDeps, "store" | "audio" | "log" | "livePages">,
): Promise<Uint8Array | null> {
  const row = needs.store.get(notifications, notificationId);
  if (!row) return null;
  const made = UNPREPARED.includes(row.stage)
    ? (await prepareAudio(row, needs)).programme
    : await renderedAudioFor(row, needs);
  return made && encodeWav(made.pcm);
}

/** An alert tone as it is played; null for silence. Rejects with CallerError for a tone there is not. */
async function renderTone(tone: string, { audio }: Pick<AudioRenderingDeps, "audio">): Promise<RenderedAudio | null> {
  const once = { gapMs: GAP_MS, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const programme = await audio.prepare({ ...once, tone, recording: null });
  return programme.packets > 0 ? programme : null;
}

/**
 * What is heard before somebody speaks: the tone, and before it the word for an exercise; null for silence. Rejects with
 * CallerError for a tone there is not.
 */
export async function renderOpening(
  message: SpeakableMessage & Pick<NotificationRow, "alertTone" | "drill">,
  { audio, speech }: Pick<AudioRenderingDeps, "audio" | "speech">,
): Promise<RenderedAudio | null> {
  const tone = message.alertTone ?? "silent";
  if (!message.drill) return renderTone(tone, { audio });
  const once = { gapMs: GAP_MS, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  for (const word of announcementsOf(message, speech, [])) {
    const isSilent = tone === "silent";
    const sound = isSilent ? { tone: null, recording: word } : { tone, recording: null, announcement: word };
    const programme = await audio.prepare({ ...once, ...sound }).catch(() => null);
    if (programme) return programme;
  }
  return renderTone(tone, { audio });
}

/** The same as a file: 8 kHz 16-bit mono WAV. */
export async function toneWav(tone: string, needs: Pick<AudioRenderingDeps, "audio">): Promise<Uint8Array | null> {
  const programme = await renderTone(tone, needs);
  return programme && encodeWav(programme.pcm);
}

/** A recording by itself as it would be played, 8 kHz 16-bit mono WAV. Rejects with CallerError for one that can't be played. */
export async function recordingWav(
  recording: StoredFile,
  { audio, store }: Pick<AudioRenderingDeps, "audio" | "store">,
): Promise<Uint8Array> {
  const once = { tone: null, gapMs: 0, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const source = { sha256: recording.sha256, read: () => store.files.read(recording) };
  return encodeWav((await audio.prepare({ ...once, recording: source })).pcm);
}

/** Absolute path of the picture that goes with a message, null without one. */
export function imagePathOf(message: Pick<NotificationRow, "image">, files: FileStore): string | null {
  return message.image && files.pathOf(message.image);
}
