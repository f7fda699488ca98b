import { notFound } from "../../base/errors.ts";
import type { Speakable } from "../../broadcast/speech.ts";
import { TTS_SPEEDS, TTS_TYPES } from "../../resources/messages/speech.ts";
import ttsVoices from "../../resources/speech/tts-voices.ts";
import { boolean, integer, option, text, uuid } from "../../schema/field.ts";
import { type Action, json, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";
import { wavAnswer } from "./notification-audio.ts";

const WORDS = {
  ttsType: option("Which part is spoken.", TTS_TYPES, { required: true }),
  ttsVoiceId: uuid("Voice that speaks; that of the defaults unless given."),
  ttsSpeed: option("How fast it is spoken.", TTS_SPEEDS, { default: "normal" }),
  subject: text("First line.", { max: 255 }),
  body: text("The message itself.", { max: 10_000 }),
  ttsCustomContent: text("Words for custom-text; a tag such as [de-DE] has those after it spoken in that language.", {
    max: 10_000,
  }),
  ignoreLexicon: boolean("Words are spoken as they are written.", { default: false }),
};
const checkWords = bodyCheck(WORDS);
const MADE = {
  audioHash: text("SHA-256 of the sound, hex, by which it is heard.", { required: true }),
  audioSize: integer("Its bytes.", { required: true }),
};

/** Speech by ear. @source decisions.md 13; digest `/v1/tts` */
export const speechActions: readonly Action[] = [
  {
    method: "post",
    at: "tts",
    doc: "Speaks words to be listened to; they are remembered for a while.",
    accepts: WORDS,
    answers: { kind: "members", fields: MADE },
    async handle(request) {
      const { ttsVoiceId, ignoreLexicon, ...words } = checkWords(request.body);
      if (ttsVoiceId) visibleRow(request, ttsVoices, ttsVoiceId as string);
      const message = { subject: null, body: null, ttsCustomContent: null, ...words, ttsVoiceId: ttsVoiceId ?? null };
      const options = { ignoreLexicon: ignoreLexicon === true };
      const { hash, wav } = await request.needs.speech.preview(message as Speakable, options);
      return json({ audioHash: hash, audioSize: wav.length });
    },
  },
  {
    method: "get",
    at: "tts/{audioHash}",
    doc: "What was spoken.",
    answers: { kind: "bytes", types: ["audio/wav"] },
    async handle({ needs, params: { audioHash = "" } }) {
      const wav = needs.speech.previewOf(audioHash);
      if (!wav) throw notFound();
      return wavAnswer(wav, "speech.wav");
    },
  },
];
