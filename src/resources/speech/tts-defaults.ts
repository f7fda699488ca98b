import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Default voice; `init` creates the only row.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/tts-defaults`
 */
export default defineResource({
  name: "tts-defaults",
  doc: "The default voice for messages without one.",
  paths: [{ at: "tts-defaults", methods: ["get", "put"] }],
  idParam: "ttsDefaultId",
  scope: "organisation",
  replicate: "B",
  fields: {
    ttsVoiceId: ref("Voice used for speech.", "tts-voices", { embed: "voice" }),
  },
});
