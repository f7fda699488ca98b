import { integer, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the android-push plugin. */
export default {
  serviceAccount: secret(sentence("config.service-account"), {
    max: 16_384,
  }),
  address: text(sentence("config.address"), {
    max: 250,
    default: "https://fcm.googleapis.com",
  }),
  atOnce: integer(sentence("config.at-once"), { min: 1, max: 200, default: 40 }),
};
