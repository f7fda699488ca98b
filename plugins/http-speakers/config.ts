import { json, secret } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the http-speakers plugin. */
export default {
  templates: json(sentence("config.templates"), { default: [] }),
  secrets: secret(sentence("config.secrets"), { max: 65_536, boundTo: ["templates.hosts"] }),
};
