import { json, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the multicast-zones plugin. */
export default {
  zones: json(sentence("config.zones"), { default: [] }),
  networkInterface: text(sentence("config.network-interface"), { max: 15 }),
};
