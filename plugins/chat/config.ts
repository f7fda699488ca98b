import { option, secret } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the chat plugin. */
export default {
  webhooks: secret(sentence("config.webhooks"), {
    max: 65_536,
  }),
  language: option(sentence("config.language"), ["en", "de"], { default: "en" }),
};
