import { hash } from "node:crypto";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
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

/** Silence between the parts of the audio. */
const GAP_MS = 500;
const MAX_FILL_MS = 600_000;

/** The fields of a message that determine its audio. */
type AudibleMessage = Pick<NotificationRow, "alertTone" | "audio" | "expiration" | "drill"> &
  SpeakableMessage &
  MessageSettings &
  LivePageStatus;

/** The fields that tell whether the message is a live page in progress. */
type LivePageStatus = Pick<NotificationRow, "id" | "initiationSourceType" | "streamEndedAt" | "retriedAt">;

/** Value of `initiationSourceType` for live pages. */
export const LIVE_PAGE = "live-page";

/** Ends every remark about audio that could not be made. */

/** A live page that has not been spoken to its end: it has no other audio. */
function isLivePageInProgress({ initiationSourceType, streamEndedAt, retriedAt }: LivePageStatus): boolean {
  return initiationSourceType === LIVE_PAGE && streamEndedAt === null && retriedAt === null;
}

/** Prepared audio, null when nothing is audible; `faults` lists what had to be left out, as text for people. */
export interface PreparedAudio {
  renderedAudio: RenderedAudio | null;
  remarks: Sentence[];
}

export interface AudioRenderingDeps {
  store: { files: FileStore };
  audio: PipelineStageDeps["audio"];
  speech?: PipelineStageDeps["speech"];
  livePages?: PipelineStageDeps["livePages"];
  log: PipelineStageDeps["log"];
}

/**
 * Candidates for a message's audio, best first: tone and recording, then the tone alone in case the recording cannot be
 * played. A drill is announced in each pass. The tone plays whenever one is set, also for a text-only message.
 */
function audioCandidates(
  message: AudibleMessage,
  { store: { files }, speech }: AudioRenderingDeps,
  remarks: Sentence[],
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
  const spoken = audio ? null : speechOf(message, speech, remarks);
  const recording = audio ? { sha256: audio.sha256, read: () => files.read(audio) } : spoken;
  const candidates: AudioSpec[] = [...(recording ? [{ ...layout, recording }] : []), { ...layout, recording: null }];
  const isAudibleAtAll = recording !== null || (message.alertTone ?? "silent") !== "silent";
  if (!message.drill || !isAudibleAtAll) return candidates;
  const announcements = announcementsOf(message, speech, remarks);
  return candidates.flatMap((candidate) => announcements.map((announcement) => ({ ...candidate, announcement })));
}

/** Candidates for the drill announcement, best first: the spoken word, then a signal that needs no voice. */
function announcementsOf(
  message: SpeakableMessage,
  speech: AudioRenderingDeps["speech"],
  remarks: Sentence[],
): WavSource[] {
  try {
    const word = speech?.drillAnnouncement(message);
    if (word) return [{ sha256: word.key, read: () => word.speak() }, drillSignal()];
    remarks.push(sentence("activity.drill-signal"));
  } catch (error) {
    remarks.push(sentence("activity.drill-signal-because", { problem: messageOf(error) }));
  }
  return [drillSignal()];
}

function drillSignal(): WavSource {
  const wav = encodeWav(renderSegments(DRILL_SIGNAL));
  return { sha256: hash("sha256", wav, "hex"), read: () => wav };
}

/** Speech is used only when the message has no recording. */
function speechOf(
  message: AudibleMessage,
  speech: AudioRenderingDeps["speech"],
  remarks: Sentence[],
): AudioSpec["recording"] {
  if ((message.ttsType ?? "none") === "none") return null;
  try {
    const speaking = speech?.synthesize(message) ?? null;
    if (!speech) remarks.push(withoutAudio(sentence("activity.no-speech")));
    return speaking && { sha256: speaking.key, read: () => speaking.speak() };
  } catch (error) {
    remarks.push(withoutAudio(messageOf(error)));
    return null;
  }
}

function withoutAudio(problem: string): Sentence {
  return sentence("activity.without-audio", { problem });
}

/** Until the message expires, at most ten minutes. */
function fillMs({ expiration }: AudibleMessage): number {
  return Math.min(MAX_FILL_MS, (expiration ?? MAX_FILL_MS) * 1_000);
}

/** Renders a message's audio. Never rejects: what cannot be made is left out and listed in `faults`. */
export async function prepareAudio(message: AudibleMessage, deps: AudioRenderingDeps): Promise<PreparedAudio> {
  const remarks: Sentence[] = [];
  if (isLivePageInProgress(message))
    return { renderedAudio: deps.livePages?.renderedAudioOf(message.id) ?? null, remarks };
  for (const spec of audioCandidates(message, deps, remarks)) {
    try {
      const renderedAudio = await deps.audio.prepare(spec);
      return { renderedAudio: renderedAudio.packets > 0 ? renderedAudio : null, remarks: [...new Set(remarks)] };
    } catch (error) {
      remarks.push(withoutAudio(messageOf(error)));
      deps.log.error(
        { event: "audio.preparation_failed", err: error, tone: spec.tone },
        "Audio of a message could not be prepared.",
      );
    }
  }
  return { renderedAudio: null, remarks: [...new Set(remarks)] };
}

function messageOf(error: unknown): string {
  if (error instanceof CallerError || error instanceof UpstreamError) return error.message;
  return sentence("error.the-audio-could-not-be-made");
}

/** The audio that a prepared message is sent with, rendered again on a cache miss; null when nothing is audible. */
export async function renderedAudioFor(
  row: AudibleMessage & Pick<NotificationRow, "programmeSha">,
  deps: AudioRenderingDeps,
): Promise<RenderedAudio | null> {
  if (row.programmeSha === null) return null;
  if (isLivePageInProgress(row)) return deps.livePages?.renderedAudioOf(row.id) ?? null;
  const specs = audioCandidates(row, deps, []);
  const spec = specs.find((candidate) => audioSpecHash(candidate) === row.programmeSha);
  return spec ? deps.audio.prepare(spec) : (await prepareAudio(row, deps)).renderedAudio;
}

/** Stages in which the audio is not stored yet. */
const UNPREPARED: readonly (string | null)[] = ["draft", "approval", ...stagesBefore("queue")];

/**
 * The audio of a notification as 8 kHz 16-bit mono WAV; null when nothing is audible or the notification does not
 * exist.
 */
export async function renderedWavOf(
  notificationId: string,
  deps: Pick<PipelineStageDeps, "store" | "audio" | "log" | "livePages">,
): Promise<Uint8Array | null> {
  const row = deps.store.get(notifications, notificationId);
  if (!row) return null;
  const made = UNPREPARED.includes(row.stage)
    ? (await prepareAudio(row, deps)).renderedAudio
    : await renderedAudioFor(row, deps);
  return made && encodeWav(made.pcm);
}

/** An alert tone as played; null for silence. Rejects with CallerError for an unknown tone. */
async function renderTone(tone: string, { audio }: Pick<AudioRenderingDeps, "audio">): Promise<RenderedAudio | null> {
  const once = { gapMs: GAP_MS, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const renderedAudio = await audio.prepare({ ...once, tone, recording: null });
  return renderedAudio.packets > 0 ? renderedAudio : null;
}

/**
 * The opening of a live page: the tone, preceded by the drill announcement if it is a drill; null for silence. Rejects
 * with CallerError for an unknown tone.
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
    const renderedAudio = await audio.prepare({ ...once, ...sound }).catch(() => null);
    if (renderedAudio) return renderedAudio;
  }
  return renderTone(tone, { audio });
}

/** An alert tone as 8 kHz 16-bit mono WAV; null for silence. */
export async function toneWav(tone: string, deps: Pick<AudioRenderingDeps, "audio">): Promise<Uint8Array | null> {
  const renderedAudio = await renderTone(tone, deps);
  return renderedAudio && encodeWav(renderedAudio.pcm);
}

/** A recording as it would be played, 8 kHz 16-bit mono WAV. Rejects with CallerError for one that cannot be played. */
export async function recordingWav(
  recording: StoredFile,
  { audio, store }: Pick<AudioRenderingDeps, "audio" | "store">,
): Promise<Uint8Array> {
  const once = { tone: null, gapMs: 0, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const source = { sha256: recording.sha256, read: () => store.files.read(recording) };
  return encodeWav((await audio.prepare({ ...once, recording: source })).pcm);
}

/** Absolute path of a message's image, null without one. */
export function imagePathOf(message: Pick<NotificationRow, "image">, files: FileStore): string | null {
  return message.image && files.pathOf(message.image);
}
