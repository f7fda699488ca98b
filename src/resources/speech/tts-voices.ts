import { boolean, internal, option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Voices of the appliance. @source service-api.md, Message template (voice); decisions.md 13; digest `/v1/tts-voices` */
export default defineResource({
  name: "tts-voices",
  doc: "A voice that can speak messages.",
  paths: [{ at: "tts-voices", methods: ["get"] }],
  idParam: "ttsVoiceId",
  scope: "organisation",
  replicate: "local",
  fields: {
    code: internal("What the program calls it.", "text"),
    name: text("What people call the voice.", { readOnly: true }),
    gender: text("How the voice sounds.", { readOnly: true, max: 20 }),
    language: text("Language it speaks, as a tag such as en-US.", { readOnly: true, max: 35 }),
    engine: option("Kind of engine.", ["standard"], { readOnly: true, default: "standard" }),
    synthesisProvider: text("Program that speaks.", { readOnly: true, max: 140 }),
    unavailable: boolean("own choice: the program that has the voice did not answer when the appliance started.", {
      readOnly: true,
      default: false,
    }),
  },
});
