import { json, secret } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the http-input plugin. */
export default {
  sources: json(sentence("config.sources"), { default: [] }),
  secrets: secret(sentence("config.secrets"), { max: 65_536 }),
};
