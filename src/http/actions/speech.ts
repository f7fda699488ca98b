import { notFound } from "../../lib/errors.ts";
import type { SpeakableMessage } from "../../notifications/compose/speech-synthesis.ts";
import { TTS_SPEEDS, TTS_TYPES } from "../../resources/messages/message-options.ts";
import ttsVoices from "../../resources/speech/tts-voices.ts";
import { boolean, integer, option, text, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { wavResponse } from "./notification-audio.ts";

const SPEECH_INPUT = {
  ttsType: option("Part to speak.", TTS_TYPES, { required: true }),
  ttsVoiceId: uuid("Voice; default: the default voice."),
  ttsSpeed: option("Speech rate.", TTS_SPEEDS, { default: "normal" }),
  subject: text("Subject.", { max: 255 }),
  body: text("The message itself.", { max: 10_000 }),
  ttsCustomContent: text(
    "Text for custom-text, where a tag such as [de-DE] switches the language; an SSML document for custom-ssml.",
    { max: 10_000 },
  ),
  ignoreLexicon: boolean("Ignores the pronunciation lexicon.", { default: false }),
  return: option(
    "hash: returns the hash of the audio; audio: returns the audio; fail: only validates the text, without creating audio.",
    ["audio", "hash", "fail"],
    { default: "hash" },
  ),
  validateTts: option("length: refuses text that takes more than five minutes to speak.", ["none", "length"], {
    default: "none",
  }),
};
const validateSpeech = compileBodyValidator(SPEECH_INPUT);
const SPEECH_RESPONSE = {
  audioHash: text("SHA-256 of the audio, hex, used to fetch it; null if none was created."),
  audioSize: integer("Size of the audio in bytes.", { required: true }),
};
const MAX_AUDIO_MS = 300_000;

/** Speech by ear. @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/tts` */
export const speechActions: readonly Action[] = [
  {
    method: "post",
    at: "tts",
    doc: "Converts text to speech for previews; the audio is cached for a while.",
    accepts: SPEECH_INPUT,
    response: { kind: "members", fields: SPEECH_RESPONSE, orBytes: ["audio/wav"] },
    async handle(request) {
      const { ttsVoiceId, ignoreLexicon, return: wanted, validateTts, ...content } = validateSpeech(request.body);
      if (ttsVoiceId) requireVisibleRow(request, ttsVoices, ttsVoiceId as string);
      const message = { subject: null, body: null, ttsCustomContent: null, ...content, ttsVoiceId: ttsVoiceId ?? null };
      const options = { ignoreLexicon: ignoreLexicon === true };
      const { speech } = request.deps;
      if (wanted === "fail" && validateTts !== "length") {
        speech.check(message as SpeakableMessage, options);
        return jsonResponse({ audioHash: null, audioSize: 0 });
      }
      const limit = validateTts === "length" ? { longestMs: MAX_AUDIO_MS } : {};
      const { hash, wav } = await speech.preview(message as SpeakableMessage, { ...options, ...limit });
      if (wanted === "fail") return jsonResponse({ audioHash: null, audioSize: 0 });
      if (wanted === "audio") return wavResponse(wav, "speech.wav");
      return jsonResponse({ audioHash: hash, audioSize: wav.length });
    },
  },
  {
    method: "get",
    at: "tts/{audioHash}",
    doc: "Returns cached speech audio.",
    response: { kind: "bytes", types: ["audio/wav"] },
    async handle({ deps, params: { audioHash = "" } }) {
      const wav = deps.speech.previewOf(audioHash);
      if (!wav) throw notFound();
      return wavResponse(wav, "speech.wav");
    },
  },
];
