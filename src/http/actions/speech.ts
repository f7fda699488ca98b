import { notFound } from "../../lib/errors.ts";
import type { SpeakableMessage } from "../../notifications/compose/speech-synthesis.ts";
import { TTS_SPEEDS, TTS_TYPES } from "../../resources/messages/message-options.ts";
import ttsVoices from "../../resources/speech/tts-voices.ts";
import { boolean, integer, option, text, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { wavResponse } from "./notification-audio.ts";

const WORDS = {
  ttsType: option("Which part is spoken.", TTS_TYPES, { required: true }),
  ttsVoiceId: uuid("Voice that speaks; that of the defaults unless given."),
  ttsSpeed: option("How fast it is spoken.", TTS_SPEEDS, { default: "normal" }),
  subject: text("First line.", { max: 255 }),
  body: text("The message itself.", { max: 10_000 }),
  ttsCustomContent: text(
    "Words for custom-text, where a tag such as [de-DE] has those after it spoken in that language; an SSML document for custom-ssml.",
    { max: 10_000 },
  ),
  ignoreLexicon: boolean("Words are spoken as they are written.", { default: false }),
  return: option(
    "own choice: the hash of the sound, the sound itself, or nothing but what is wrong with the words, for which none is made.",
    ["audio", "hash", "fail"],
    { default: "hash" },
  ),
  validateTts: option("own choice: length refuses what takes more than five minutes to speak.", ["none", "length"], {
    default: "none",
  }),
};
const validateSpeech = compileBodyValidator(WORDS);
const SPEECH_RESPONSE = {
  audioHash: text("SHA-256 of the sound, hex, by which it is heard; null where none was made."),
  audioSize: integer("Its bytes.", { required: true }),
};
const MAX_AUDIO_MS = 300_000;

/** Speech by ear. @source decisions.md 13; digest `/v1/tts` */
export const speechActions: readonly Action[] = [
  {
    method: "post",
    at: "tts",
    doc: "Speaks words to be listened to; they are remembered for a while.",
    accepts: WORDS,
    response: { kind: "members", fields: SPEECH_RESPONSE, orBytes: ["audio/wav"] },
    async handle(request) {
      const { ttsVoiceId, ignoreLexicon, return: wanted, validateTts, ...words } = validateSpeech(request.body);
      if (ttsVoiceId) requireVisibleRow(request, ttsVoices, ttsVoiceId as string);
      const message = { subject: null, body: null, ttsCustomContent: null, ...words, ttsVoiceId: ttsVoiceId ?? null };
      const options = { ignoreLexicon: ignoreLexicon === true };
      const { speech } = request.needs;
      if (wanted === "fail" && validateTts !== "length") {
        speech.check(message as SpeakableMessage, options);
        return jsonResponse({ audioHash: null, audioSize: 0 });
      }
      const most = validateTts === "length" ? { longestMs: MAX_AUDIO_MS } : {};
      const { hash, wav } = await speech.preview(message as SpeakableMessage, { ...options, ...most });
      if (wanted === "fail") return jsonResponse({ audioHash: null, audioSize: 0 });
      if (wanted === "audio") return wavResponse(wav, "speech.wav");
      return jsonResponse({ audioHash: hash, audioSize: wav.length });
    },
  },
  {
    method: "get",
    at: "tts/{audioHash}",
    doc: "What was spoken.",
    response: { kind: "bytes", types: ["audio/wav"] },
    async handle({ needs, params: { audioHash = "" } }) {
      const wav = needs.speech.previewOf(audioHash);
      if (!wav) throw notFound();
      return wavResponse(wav, "speech.wav");
    },
  },
];
