import { boolean, integer, option, secret, text } from "#plugin-api";

/** Configuration of the phone-call plugin. */
export default {
  trunk: text("SIP URI of the provider or telephone system, such as sip:trunk.example.org.", {
    max: 255,
  }),
  user: text("User name at the trunk, if it requires authentication.", { max: 128 }),
  password: secret("Password at the trunk.", { boundTo: ["trunk", "user"] }),
  register: boolean("Register with the trunk, as required by providers of single lines.", {
    default: false,
  }),
  callerNumber: text("Caller number shown by telephones, as permitted by the trunk.", {
    max: 20,
  }),
  callerName: text("Caller name on displays and at the beginning of calls.", { min: 1, max: 60, default: "Carillon" }),
  language: option("Language of the announcements around a message.", ["en", "de"], { default: "en" }),
  plus: text("Digits dialled for the plus of international numbers.", { max: 6, default: "+" }),
  prefix: text("Digits dialled before each number, for an outside line.", { max: 6, default: "" }),
  neverCalled: text("Numbers of emergency services, which are never called, whatever prefix is dialled before them.", {
    max: 1_000,
    default: "000 110 111 112 113 115 117 118 119 120 122 133 144 190 191 192 193 911 933 988 995 997 998 999",
  }),
  callsAtOnce: integer("Maximum number of concurrent calls, as permitted by the trunk.", {
    min: 1,
    max: 500,
    default: 10,
  }),
  callsPerSecond: integer("Maximum number of calls started per second.", { min: 1, max: 100, default: 5 }),
  ringSeconds: integer("Ring time before a call is abandoned.", { min: 10, max: 120, default: 30 }),
  againAfterSeconds: integer(
    "Pause before a busy or unanswered telephone is called again; a quarter of it for emergencies.",
    {
      min: 15,
      max: 600,
      default: 60,
    },
  ),
  repetitions: integer("How often a message is played if no key is pressed.", { min: 1, max: 5, default: 2 }),
  port: integer("SIP port for UDP and TCP; 0 lets the system choose.", { min: 0, max: 65_535, default: 5_070 }),
  address: text(
    "Own IPv4 address that the trunk can reach, or the name of the network interface that has it. Default: from the " +
      "system's routes.",
    { max: 15 },
  ),
  certificateAuthority: text("CA certificate of the trunk in PEM, for TLS. Default: the system's CAs.", {
    max: 65_536,
  }),
  srtp: option(
    "Audio encryption (SRTP) with a trunk over TLS: off, if the trunk supports it, or required.",
    ["off", "offer", "require"],
    { default: "offer" },
  ),
  firstMediaPort: integer("First RTP port.", { min: 1_024, max: 65_534, default: 12_000 }),
  lastMediaPort: integer("Last RTP port. Each call uses two ports.", { min: 1_025, max: 65_535, default: 15_999 }),
};

/** Fields in notification profiles. */
export const profile = {
  introduction: text("Introduction at the beginning of each call, instead of the caller name.", { max: 500 }),
};
