import { integer } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the desktop plugin. */
export default {
  waitSeconds: integer(sentence("config.wait-seconds"), {
    min: 1,
    max: 9,
    default: 8,
  }),
};
