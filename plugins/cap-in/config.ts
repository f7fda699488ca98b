import { json, secret, text } from "#plugin-api";
import { FEED_PRESETS, presetExamples } from "./presets.ts";
import { sentence } from "./sentences.ts";

/** Configuration of the cap-in plugin. */
export default {
  feeds: json(
    sentence("config.feeds", {
      presets: FEED_PRESETS.map(({ id, values }) => [id, ...Object.keys(values)].join(" ")).join("; "),
    }),
    { default: [], presets: presetExamples() },
  ),
  tokens: secret(sentence("config.tokens"), {
    max: 65_536,
    boundTo: ["feeds.url", "feeds.preset"],
  }),
  trustedCertificates: text(sentence("config.trusted-certificates"), {
    max: 65_536,
  }),
  language: text(sentence("config.language"), {
    max: 20,
    default: "en",
  }),
};
