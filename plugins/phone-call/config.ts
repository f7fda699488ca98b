import { boolean, integer, option, secret, text } from "#plugin-api";

/** The configuration of calls to telephones. */
export default {
  trunk: text("Address of the provider or telephone system that takes the calls, such as sip:trunk.example.org.", {
    max: 255,
  }),
  user: text("Name for the trunk, where it asks for one.", { max: 128 }),
  password: secret("Its password."),
  register: boolean("Tell the trunk every few minutes where the appliance is, as providers of single lines want it.", {
    default: false,
  }),
  callerNumber: text("Number that telephones show as the caller, as the trunk allows it.", {
    max: 20,
  }),
  callerName: text("Name that displays show, and that calls begin with.", { min: 1, max: 60, default: "Carillon" }),
  language: option("Language of the words around a message.", ["en", "de"], { default: "en" }),
  plus: text("What is dialled for the plus of international numbers.", { max: 6, default: "+" }),
  prefix: text("Digits that are dialled before each number, for an outside line.", { max: 6, default: "" }),
  neverCalled: text("Numbers that are never called, whatever is dialled before them: those of emergency services.", {
    max: 1_000,
    default: "000 110 111 112 113 115 117 118 119 120 122 133 144 190 191 192 193 911 933 988 995 997 998 999",
  }),
  callsAtOnce: integer("Calls at once, as the trunk allows them.", { min: 1, max: 500, default: 10 }),
  callsPerSecond: integer("Calls begun in a second, at most.", { min: 1, max: 100, default: 5 }),
  ringSeconds: integer("How long it rings before the call is given up.", { min: 10, max: 120, default: 30 }),
  againAfterSeconds: integer(
    "Pause before a busy or unanswered telephone is called again; a quarter for emergencies.",
    {
      min: 15,
      max: 600,
      default: 60,
    },
  ),
  repetitions: integer("How often a message is said to somebody who presses no key.", { min: 1, max: 5, default: 2 }),
  port: integer("Port for SIP, UDP and TCP; 0 lets the system choose.", { min: 0, max: 65_535, default: 5_070 }),
  address: text("Own IPv4 address that the trunk reaches; found by the system's routes unless given.", { max: 15 }),
  certificateAuthority: text("Certificate in PEM of who signed the trunk's, for TLS; the system's unless given.", {
    max: 65_536,
  }),
  srtp: option(
    "Encrypted sound (SRTP), with a trunk by TLS: none, where the trunk can, or else no call.",
    ["off", "offer", "require"],
    { default: "offer" },
  ),
  firstMediaPort: integer("Ports for sound: the first.", { min: 1_024, max: 65_534, default: 12_000 }),
  lastMediaPort: integer("Ports for sound: the last. A call takes two.", { min: 1_025, max: 65_535, default: 15_999 }),
};

/** What notification profiles may say of calls. @source digest, notification profiles, Phone Call */
export const profile = {
  introduction: text("Said at the beginning of each call, in the place of who is calling.", { max: 500 }),
};
