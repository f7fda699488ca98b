import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** The voice of messages that name none; `init` makes the one row. @source decisions.md 13; digest `/v1/tts-defaults` */
export default defineResource({
  name: "tts-defaults",
  doc: "The voice that speaks when a message names none.",
  paths: [{ at: "tts-defaults", methods: ["get", "put"] }],
  idParam: "ttsDefaultId",
  scope: "organisation",
  replicate: "B",
  fields: {
    ttsVoiceId: ref("Voice that speaks.", "tts-voices", { embed: "voice" }),
  },
});
