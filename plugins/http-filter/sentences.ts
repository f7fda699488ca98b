import { defineSentences } from "#plugin-api";
import en from "./sentences/en.json" with { type: "json" };

/** Descriptions of the plugin's settings by code. */
export const sentence = defineSentences(en);
