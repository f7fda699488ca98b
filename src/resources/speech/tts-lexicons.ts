import { option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { TTS_LANGUAGES } from "./tts-languages.ts";

/**
 * Pronunciation lexicon.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/tts-lexicons`
 */
export default defineResource({
  name: "tts-lexicons",
  doc: "A pronunciation rule: text that is spoken differently from how it is written.",
  paths: [{ at: "tts-lexicons" }],
  idParam: "ttsLexiconId",
  scope: "organisation",
  replicate: "B",
  fields: {
    language: option("Language of the rule.", TTS_LANGUAGES, { required: true }),
    find: text("Text as written.", { required: true, min: 1, max: 255 }),
    replace: text("Text as spoken.", { required: true, min: 1, max: 255 }),
  },
});
