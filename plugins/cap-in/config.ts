import { json, secret, text } from "#plugin-api";
import { FEED_PRESETS, presetExamples } from "./presets.ts";

/** Configuration of the cap-in plugin. */
export default {
  feeds: json(
    'Feeds: a list of {"name", "preset"} or {"name", "url"}. Presets, with what "values" must hold: ' +
      `${FEED_PRESETS.map(({ id, values }) => [id, ...Object.keys(values)].join(" ")).join("; ")}. "url" is a URL of http, https, ` +
      'tcp or tls, or a list of them in order; "archives" are those of a stream. ' +
      '"everySeconds" (poll interval, default 60, at least 15), "silentAfterMinutes" ' +
      '(default 15), "signed" (accept only alerts signed by a trusted certificate, default true without a preset), ' +
      '"language" (default: of the preset, else of the plugin), "statuses" (default ["Actual"]), ' +
      '"events", "categories", "urgencies", "severities", "certainties" (accepted values, default any), "geocodes" ' +
      '(an object that maps "SAME=006109" to the name of an area of interest, or to "" for this site), "onlyHere" ' +
      '(accept only alerts for areas of interest or these geocodes, default false) and "unplaced" (which alerts pass ' +
      'onlyHere although their area is not understood: "extreme", the default, "all" or "none").',
    { default: [], presets: presetExamples() },
  ),
  tokens: secret("Bearer tokens of feeds, one line name=token each.", {
    max: 65_536,
    boundTo: ["feeds.url", "feeds.preset"],
  }),
  trustedCertificates: text("Certificates in PEM that sign alerts, or CAs that issued those certificates.", {
    max: 65_536,
  }),
  language: text("Preferred language of multilingual alerts, as a prefix such as en or de.", {
    max: 20,
    default: "en",
  }),
};
