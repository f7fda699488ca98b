import { secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the ip-phones plugin. */
export default {
  pushUser: text(sentence("config.push-user"), {
    min: 1,
    max: 64,
    without: ":",
    default: "carillon",
  }),
  pushPassword: secret(sentence("config.push-password")),
};
