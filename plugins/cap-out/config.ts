import { integer, option, secret, text } from "#plugin-api";

const CATEGORIES = [
  "Geo",
  "Met",
  "Safety",
  "Security",
  "Rescue",
  "Fire",
  "Health",
  "Env",
  "Transport",
  "Infra",
  "CBRNE",
  "Other",
] as const;
const RESPONSES = [
  "Shelter",
  "Evacuate",
  "Prepare",
  "Execute",
  "Avoid",
  "Monitor",
  "Assess",
  "AllClear",
  "None",
] as const;

/** The configuration of alerts in feeds. */
export default {
  sender: text("Who sends the alerts, unique in the world: alerts@school.example.org. No space, comma, < or &.", {
    max: 254,
  }),
  senderName: text("The sender as people know it.", { max: 140 }),
  contact: text("Whom to ask about an alert.", { max: 255 }),
  language: text("Language of the messages: en-US, de-DE.", { max: 20, default: "en-US" }),
  areaDesc: text("Where alerts hold, in words, for groups that do not say it.", { max: 255, default: "Site" }),
  validMinutes: integer("So long an alert holds whose message does not expire.", {
    min: 1,
    max: 10_080,
    unit: "min",
    default: 60,
  }),
  access: option("Who may read the feeds: whoever shows `feedToken`, or everybody.", ["token", "public"], {
    default: "token",
  }),
  feedToken: secret("What readers show as bearer or as `?token=`; at least 16 characters."),
  signingKey: secret(
    "RSA key in PEM that signs the alerts; they are not signed unless it and the certificate are given.",
  ),
  certificate: text("Its certificate in PEM, which stands in each signed alert.", { max: 65_536 }),
};

/** What notification profiles may say of alerts. @source CAP 1.2 §3.2.2 */
export const profile = {
  category: option("Kind of event.", CATEGORIES, { default: "Safety" }),
  event: text("What it is about, in a few words; the subject unless given.", { max: 140 }),
  urgency: option("How soon to act.", ["Immediate", "Expected", "Future", "Past", "Unknown"]),
  severity: option("How bad it is.", ["Extreme", "Severe", "Moderate", "Minor", "Unknown"]),
  certainty: option("How sure it is.", ["Observed", "Likely", "Possible", "Unlikely", "Unknown"]),
  responseType: option("What to do.", RESPONSES),
  instruction: text("What to do, in words.", { max: 2_000 }),
};
