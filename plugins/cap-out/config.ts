import { integer, option, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

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
  sender: text(sentence("config.sender"), {
    max: 254,
  }),
  senderName: text(sentence("config.sender-name"), { max: 140 }),
  contact: text(sentence("config.contact"), { max: 255 }),
  language: text(sentence("config.language"), { max: 20, default: "en-US" }),
  areaDesc: text(sentence("config.area-desc"), { max: 255, default: "Site" }),
  validMinutes: integer(sentence("config.valid-minutes"), {
    min: 1,
    max: 10_080,
    unit: "min",
    default: 60,
  }),
  access: option(sentence("config.access"), ["token", "public"], {
    default: "token",
  }),
  feedToken: secret(sentence("config.feed-token")),
  signingKey: secret(sentence("config.signing-key")),
  certificate: text(sentence("config.certificate"), { max: 65_536 }),
};

/** Fields in notification profiles. @source CAP 1.2 §3.2.2 */
export const profile = {
  category: option(sentence("config.profile.category"), CATEGORIES, { default: "Safety" }),
  event: text(sentence("config.profile.event"), { max: 140 }),
  urgency: option(sentence("config.profile.urgency"), ["Immediate", "Expected", "Future", "Past", "Unknown"]),
  severity: option(sentence("config.profile.severity"), ["Extreme", "Severe", "Moderate", "Minor", "Unknown"]),
  certainty: option(sentence("config.profile.certainty"), ["Observed", "Likely", "Possible", "Unlikely", "Unknown"]),
  responseType: option(sentence("config.profile.response-type"), RESPONSES),
  instruction: text(sentence("config.profile.instruction"), { max: 2_000 }),
};
