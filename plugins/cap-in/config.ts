import { json, secret, text } from "#plugin-api";

/** Configuration of the cap-in plugin. */
export default {
  feeds: json(
    'Feeds: a list of {"name", "url"} with "everySeconds" (poll interval, default 60, at least 15), "silentAfterMinutes" ' +
      '(default 15), "signed" (accept only alerts signed by a trusted certificate, default true), "statuses" (default ["Actual"]), ' +
      '"events", "categories", "urgencies", "severities", "certainties" (accepted values, default any), "geocodes" ' +
      '(an object that maps "SAME=006109" to the name of an area of interest, or to "" for this site) and "onlyHere" ' +
      "(accept only alerts for areas of interest or these geocodes, default false).",
    { default: [] },
  ),
  tokens: secret("Bearer tokens of feeds, one line name=token each.", {
    max: 65_536,
    boundTo: ["feeds.url"],
  }),
  trustedCertificates: text("Certificates in PEM that sign alerts, or CAs that issued those certificates.", {
    max: 65_536,
  }),
  language: text("Preferred language of multilingual alerts, as a prefix such as en or de.", {
    max: 20,
    default: "en",
  }),
};
