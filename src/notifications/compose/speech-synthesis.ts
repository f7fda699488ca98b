import { hash } from "node:crypto";
import { invalidValue, UpstreamError } from "../../lib/errors.ts";
import { derivedId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { SpeechRequest, TextToSpeechEngine } from "../../media/text-to-speech.ts";
import { inspectWav } from "../../media/wav.ts";
import { concatenateWavs } from "../../media/wav-concatenation.ts";
import type { TTS_SPEEDS } from "../../resources/messages/message-options.ts";
import ttsDefaults from "../../resources/speech/tts-defaults.ts";
import ttsLexicons from "../../resources/speech/tts-lexicons.ts";
import ttsVoices from "../../resources/speech/tts-voices.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import { drillAnnouncement } from "./drill-announcement.ts";
import { hasSpeech, splitSpeech, splitValidSpeech } from "./speech-segments.ts";
import { applyLexicon, matchesLanguage, type SpokenMessage } from "./speech-text.ts";

/** The fields of a message that determine its speech. */
export type SpeakableMessage = SpokenMessage & {
  ttsVoiceId: string | null;
  ttsSpeed: (typeof TTS_SPEEDS)[number] | null;
};

/** Speech that can be synthesized: `key` is equal for equal speech. */
export interface SynthesizedSpeech {
  key: string;
  /** A WAV file. Rejects with UpstreamError. */
  speak(): Promise<Uint8Array>;
}

export interface SpeechSynthesizer {
  /** Synchronizes the voice rows with the installed voices. */
  start(): Promise<void>;
  /**
   * Null for a message without speech. Throws UpstreamError where no voice is available, CallerError for invalid SSML.
   */
  synthesize(message: SpeakableMessage, options?: { ignoreLexicon?: boolean }): SynthesizedSpeech | null;
  /**
   * The drill announcement, in the language of the message's voice and in every other language of the message. Throws
   * UpstreamError where no voice is available.
   */
  drillAnnouncement(message: SpeakableMessage): SynthesizedSpeech;
  /**
   * A text of the appliance in the language (a tag) of its usual voice. Throws UpstreamError where no voice is available.
   */
  announcement(textIn: (language: string) => string): SynthesizedSpeech;
  /**
   * Synthesizes speech for listening and caches it for a while. Throws CallerError where no speech engine is available,
   * and for speech longer than `longestMs`.
   */
  preview(
    message: SpeakableMessage,
    options: { ignoreLexicon: boolean; longestMs?: number },
  ): Promise<{ hash: string; wav: Uint8Array }>;
  /** Throws as `preview` does, as far as that is known without synthesis. */
  check(message: SpeakableMessage, options: { ignoreLexicon: boolean }): void;
  /** The audio of a preview by its hash; null when it is not cached. */
  previewOf(hash: string): Uint8Array | null;
}

/** Words per minute. Announced speech is slower than read speech. */
const WORDS_PER_MINUTE = { "very-slow": 100, slow: 130, normal: 155, fast: 190, "very-fast": 230 } as const;
/** Silence between two languages. */
const GAP_MS = 400;
/** Cache limit of synthesized speech. */
const MAX_CACHE_BYTES = 16 * 1_048_576;
const MAX_LEXICON_ENTRIES = 10_000;
/** Languages to try when neither message nor defaults name a voice. */
const FALLBACK_LANGUAGES = ["en-US", "en-GB", "en"];

type VoiceRow = RowOf<typeof ttsVoices>;

export function createSpeechSynthesizer(deps: {
  store: Store;
  engine: TextToSpeechEngine;
  by: ActorContext;
}): SpeechSynthesizer {
  const { store, engine } = deps;
  /** By content, and previews by their audio; oldest first. */
  const speechCache = new Map<string, Uint8Array>();
  /** Synthesis in progress, by the same keys. */
  const inProgress = new Map<string, Promise<Uint8Array>>();

  /** The available voices, and which of them speaks which language. */
  const voicesFor = (message: SpeakableMessage) => {
    const voices = availableVoices(store);
    const usual = voiceFor(message.ttsVoiceId, store, voices);
    return {
      isSpoken: (language: string): boolean => voiceIn(language, voices, usual) !== null,
      voiceOf: (language: string | null): VoiceRow =>
        (language === null ? null : voiceIn(language, voices, usual)) ?? usual,
    };
  };

  const speakingOf = (
    message: Pick<SpeakableMessage, "ttsSpeed">,
    pieces: readonly Omit<SpeechRequest, "wordsPerMinute">[],
  ): SynthesizedSpeech => {
    const wordsPerMinute = WORDS_PER_MINUTE[message.ttsSpeed ?? "normal"];
    const utterances = pieces.map((piece): SpeechRequest => ({ ...piece, wordsPerMinute }));
    const key = hash("sha256", JSON.stringify([engine.name, utterances]), "hex");
    return { key, speak: () => spoken(key, utterances) };
  };

  function synthesize(message: SpeakableMessage, { ignoreLexicon = false } = {}): SynthesizedSpeech | null {
    if (!hasSpeech(message)) return null;
    const { isSpoken, voiceOf } = voicesFor(message);
    const pieces = splitSpeech(message, isSpoken);
    if (pieces.length === 0) return null;
    const entries = ignoreLexicon ? [] : store.find(ttsLexicons, {}, MAX_LEXICON_ENTRIES);
    const utterances = pieces.map(({ language, isMarkedUp, render }) => {
      const voice = voiceOf(language);
      const text = render((raw) => applyLexicon(raw, entries, voice.language ?? ""));
      return { text, voice: voice.code ?? "", ...(isMarkedUp ? { isMarkedUp } : {}) };
    });
    return speakingOf(message, utterances);
  }

  function synthesizeDrill(message: SpeakableMessage): SynthesizedSpeech {
    const { isSpoken, voiceOf } = voicesFor(message);
    const languages = hasSpeech(message) ? splitValidSpeech(message, isSpoken).map(({ language }) => language) : [];
    const voices = [null, ...languages].map(voiceOf);
    const announcements = voices.map(({ code, language }) => ({
      text: drillAnnouncement(language ?? ""),
      voice: code ?? "",
    }));
    return speakingOf(
      message,
      announcements.filter(({ text }, at) => announcements.findIndex((other) => other.text === text) === at),
    );
  }

  function requireSpeakable(message: SpeakableMessage, options: { ignoreLexicon: boolean }): SynthesizedSpeech {
    if (availableVoices(store).length === 0) throw invalidValue("ttsType", NO_VOICE);
    const speaking = synthesize(message, options);
    if (!speaking) throw invalidValue("ttsType", sentence("field.the-message-has-no-text-to-speak"));
    return speaking;
  }

  /** Synthesized once for any number of messages and codecs. */
  function spoken(key: string, utterances: readonly SpeechRequest[]): Promise<Uint8Array> {
    const known = speechCache.get(key);
    if (known) return Promise.resolve(known);
    const synthesis = inProgress.get(key) ?? speakAll(key, utterances).finally(() => inProgress.delete(key));
    inProgress.set(key, synthesis);
    return synthesis;
  }

  async function speakAll(key: string, utterances: readonly SpeechRequest[]): Promise<Uint8Array> {
    const wavs: Uint8Array[] = [];
    for (const utterance of utterances) wavs.push(await engine.synthesize(utterance));
    const wav = concatenateWavs(wavs, GAP_MS);
    cache(key, wav);
    return wav;
  }

  function cache(key: string, wav: Uint8Array): void {
    speechCache.delete(key);
    speechCache.set(key, wav);
    let total = [...speechCache.values()].reduce((sum, { length }) => sum + length, 0);
    for (const [oldest, { length }] of speechCache) {
      if (total <= MAX_CACHE_BYTES || oldest === key) break;
      speechCache.delete(oldest);
      total -= length;
    }
  }

  return {
    start: () => syncVoices(deps),
    synthesize,
    drillAnnouncement: synthesizeDrill,
    announcement(textIn) {
      const { code, language } = voiceFor(null, store, availableVoices(store));
      return speakingOf({ ttsSpeed: null }, [{ text: textIn(language ?? ""), voice: code ?? "" }]);
    },
    async preview(message, { longestMs: maxMs = Number.POSITIVE_INFINITY, ...options }) {
      const wav = await requireSpeakable(message, options).speak();
      const { durationMs } = inspectWav(wav);
      if (durationMs > maxMs) {
        const detail = sentence("error.the-speech-takes-seconds-s-it-must-not-take-more-than-limit-s", {
          seconds: Math.round(durationMs / 1_000),
          limit: maxMs / 1_000,
        });
        throw invalidValue("ttsType", detail);
      }
      const sound = hash("sha256", wav, "hex");
      cache(sound, wav);
      return { hash: sound, wav };
    },
    check: (message, options) => void requireSpeakable(message, options),
    previewOf: (key) => speechCache.get(key) ?? null,
  };
}

const NO_VOICE = sentence("error.no-speech-engine-is-installed-on-this-appliance");

function availableVoices(store: Store): VoiceRow[] {
  return store.find(ttsVoices, {}).filter(({ unavailable }) => unavailable !== true);
}

/**
 * The message's own voice if it speaks the language, else one of the region, else one of the language; null for none.
 */
function voiceIn(language: string, voices: readonly VoiceRow[], usual: VoiceRow): VoiceRow | null {
  const exactly = (voice: VoiceRow): boolean => voice.language?.toLowerCase() === language.toLowerCase();
  const roughly = (voice: VoiceRow): boolean => matchesLanguage(voice.language ?? "", language);
  const order = [usual, ...voices];
  return order.find(exactly) ?? order.find(roughly) ?? null;
}

function voiceFor(id: string | null, store: Store, voices: readonly VoiceRow[]): VoiceRow {
  const requested = voices.find((voice) => voice.id === id);
  if (requested) return requested;
  const defaultId = store.find(ttsDefaults, {}, 1)[0]?.ttsVoiceId;
  const chosen = voices.find((voice) => voice.id === defaultId);
  if (chosen) return chosen;
  const first =
    FALLBACK_LANGUAGES.flatMap((tag) => voices.find(({ language }) => language === tag) ?? [])[0] ?? voices[0];
  if (!first) throw new UpstreamError("upstream", NO_VOICE);
  return first;
}

/**
 * Ids derive from engine and voice, so that templates keep theirs. An engine that does not respond may be back at the
 * next start: its voices stay, marked as unavailable.
 */
async function syncVoices({
  store,
  engine,
  by,
}: {
  store: Store;
  engine: TextToSpeechEngine;
  by: ActorContext;
}): Promise<void> {
  const installed = new Map(
    (await engine.listVoices()).map((voice) => [derivedId("tts-voice", engine.name, voice.code), voice]),
  );
  await store.write((tx) => {
    const known = new Map(tx.find(ttsVoices, {}).map((row) => [row.id, row.unavailable === true]));
    for (const [id, { code, name, language, gender }] of installed) {
      if (known.has(id)) continue;
      tx.create(ttsVoices, {}, by, { id, code, name, language, gender, synthesisProvider: engine.name });
    }
    for (const [id, wasGone] of known) {
      const unavailable = !installed.has(id);
      if (unavailable !== wasGone) tx.update(ttsVoices, id, {}, by, { unavailable });
    }
  });
}
