import { boolean, internal, option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Voices of the appliance.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/tts-voices`
 */
export default defineResource({
  name: "tts-voices",
  doc: "A text-to-speech voice.",
  paths: [{ at: "tts-voices", methods: ["get"] }],
  idParam: "ttsVoiceId",
  scope: "organisation",
  replicate: "local",
  fields: {
    code: internal("Id of the voice in the speech program.", "text"),
    name: text("Name of the voice.", { readOnly: true }),
    gender: text("Gender of the voice.", { readOnly: true, max: 20 }),
    language: text("Language of the voice, as a tag such as en-US.", { readOnly: true, max: 35 }),
    engine: option("Engine type.", ["standard"], { readOnly: true, default: "standard" }),
    synthesisProvider: text("Speech program.", { readOnly: true, max: 140 }),
    unavailable: boolean("The speech program did not respond when the appliance started.", {
      readOnly: true,
      default: false,
    }),
  },
});
