import { integer, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the web-push plugin. */
export default {
  contact: text(sentence("config.contact"), {
    max: 250,
  }),
  atOnce: integer(sentence("config.at-once"), { min: 1, max: 200, default: 40 }),
};
