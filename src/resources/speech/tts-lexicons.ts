import { option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { TTS_LANGUAGES } from "./tts-languages.ts";

/** How words are spoken. @source decisions.md 13; digest `/v1/tts-lexicons` */
export default defineResource({
  name: "tts-lexicons",
  doc: "Words that are spoken in another way than they are written.",
  paths: [{ at: "tts-lexicons" }],
  idParam: "ttsLexiconId",
  scope: "organisation",
  replicate: "B",
  fields: {
    language: option("Language it is for.", TTS_LANGUAGES, { required: true }),
    find: text("The words as written.", { required: true, min: 1, max: 255 }),
    replace: text("The words as spoken.", { required: true, min: 1, max: 255 }),
  },
});
