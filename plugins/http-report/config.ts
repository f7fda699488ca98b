import { json, secret } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the http-report plugin. */
export default {
  reports: json(sentence("config.reports"), { default: [] }),
  secret: secret(sentence("config.secret"), { max: 1_000, boundTo: ["reports.url"] }),
};
