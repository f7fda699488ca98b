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

/** Configuration of the cap-out plugin. */
export default {
  sender: text(
    "Globally unique sender id of the alerts, such as alerts@school.example.org. No spaces, commas, < or &.",
    {
      max: 254,
    },
  ),
  senderName: text("Human-readable name of the sender.", { max: 140 }),
  contact: text("Contact for questions about an alert.", { max: 255 }),
  language: text("Language of the messages, such as en-US or de-DE.", { max: 20, default: "en-US" }),
  areaDesc: text("Area description for groups without the property area.", { max: 255, default: "Site" }),
  validMinutes: integer("Validity of alerts whose message does not expire.", {
    min: 1,
    max: 10_080,
    unit: "min",
    default: 60,
  }),
  access: option("Access to the feeds: with `feedToken`, or public.", ["token", "public"], {
    default: "token",
  }),
  feedToken: secret("Token that readers send as bearer token or as `?token=`; at least 16 characters."),
  signingKey: secret("RSA key in PEM that signs the alerts. Alerts are signed only if key and certificate are set."),
  certificate: text("Certificate of the signing key in PEM, embedded in each signed alert.", { max: 65_536 }),
};

/** Fields in notification profiles. @source CAP 1.2 §3.2.2 */
export const profile = {
  category: option("Category of the event.", CATEGORIES, { default: "Safety" }),
  event: text("Event in a few words. Default: the subject.", { max: 140 }),
  urgency: option("Urgency: how soon to act.", ["Immediate", "Expected", "Future", "Past", "Unknown"]),
  severity: option("Severity of the event.", ["Extreme", "Severe", "Moderate", "Minor", "Unknown"]),
  certainty: option("Certainty of the event.", ["Observed", "Likely", "Possible", "Unlikely", "Unknown"]),
  responseType: option("Recommended type of response.", RESPONSES),
  instruction: text("Instruction to the readers.", { max: 2_000 }),
};
