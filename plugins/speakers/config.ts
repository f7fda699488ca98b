import { boolean, json, secret } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the speakers plugin. */
export default {
  joinSecret: secret(sentence("config.join-secret")),
  openToAll: boolean(sentence("config.open-to-all"), {
    default: false,
  }),
  rules: json(sentence("config.rules"), { default: [] }),
};
