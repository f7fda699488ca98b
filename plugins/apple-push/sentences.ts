import { defineSentences } from "#plugin-api";
import en from "./sentences/en.json" with { type: "json" };

/** Reasons and status texts of the plugin by code. */
export const sentence = defineSentences(en);
