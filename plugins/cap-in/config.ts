import { json, secret, text } from "#plugin-api";

/** The configuration of alerts from feeds. */
export default {
  feeds: json(
    'What is followed: a list of {"name", "url"} with "everySeconds" (60 unless given, at least 15), "silentAfterMinutes" ' +
      '(15), "signed" (only alerts that a trusted certificate signs count; true unless given), "statuses" (["Actual"]), ' +
      '"events", "categories", "urgencies", "severities", "certainties" (what counts; anything unless given), "geocodes" ' +
      '(an object of "SAME=006109" and the name of the area that it means, or "" for here) and "onlyHere" (only alerts for ' +
      "areas of interest or these geocodes count; false unless given).",
    { default: [] },
  ),
  tokens: secret("What a feed wants to be shown as bearer, a line name=token each.", { max: 65_536 }),
  trustedCertificates: text("Certificates in PEM that sign alerts, or that signed those that do.", { max: 65_536 }),
  language: text("Which text of an alert in several languages is taken: its beginning, such as en or de.", {
    max: 20,
    default: "en",
  }),
};
