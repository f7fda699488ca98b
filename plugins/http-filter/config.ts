import { integer, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the http-filter plugin. */
export default {
  url: text(sentence("config.url"), { max: 2_000, format: "url" }),
  secret: secret(sentence("config.secret"), { max: 1_000, boundTo: ["url"] }),
  timeoutMs: integer(sentence("config.timeout-ms"), {
    min: 100,
    max: 2_000,
    default: 1_000,
    unit: "ms",
  }),
};
