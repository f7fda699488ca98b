import { boolean, integer, option, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the phone-call plugin. */
export default {
  trunk: text(sentence("config.trunk"), {
    max: 255,
  }),
  user: text(sentence("config.user"), { max: 128 }),
  password: secret(sentence("config.password"), { boundTo: ["trunk", "user"] }),
  register: boolean(sentence("config.register"), {
    default: false,
  }),
  callerNumber: text(sentence("config.caller-number"), {
    max: 20,
  }),
  callerName: text(sentence("config.caller-name"), { min: 1, max: 60, default: "Carillon" }),
  language: option(sentence("config.language"), ["en", "de"], { default: "en" }),
  plus: text(sentence("config.plus"), { max: 6, default: "+" }),
  prefix: text(sentence("config.prefix"), { max: 6, default: "" }),
  neverCalled: text(sentence("config.never-called"), {
    max: 1_000,
    default: "000 110 111 112 113 115 117 118 119 120 122 133 144 190 191 192 193 911 933 988 995 997 998 999",
  }),
  callsAtOnce: integer(sentence("config.calls-at-once"), {
    min: 1,
    max: 500,
    default: 10,
  }),
  callsPerSecond: integer(sentence("config.calls-per-second"), { min: 1, max: 100, default: 5 }),
  ringSeconds: integer(sentence("config.ring-seconds"), { min: 10, max: 120, default: 30 }),
  againAfterSeconds: integer(sentence("config.again-after-seconds"), {
    min: 15,
    max: 600,
    default: 60,
  }),
  repetitions: integer(sentence("config.repetitions"), { min: 1, max: 5, default: 2 }),
  port: integer(sentence("config.port"), { min: 0, max: 65_535, default: 5_070 }),
  address: text(sentence("config.address"), { max: 15 }),
  certificateAuthority: text(sentence("config.certificate-authority"), {
    max: 65_536,
  }),
  srtp: option(sentence("config.srtp"), ["off", "offer", "require"], { default: "offer" }),
  firstMediaPort: integer(sentence("config.first-media-port"), { min: 1_024, max: 65_534, default: 12_000 }),
  lastMediaPort: integer(sentence("config.last-media-port"), { min: 1_025, max: 65_535, default: 15_999 }),
};

/** Fields in notification profiles. */
export const profile = {
  introduction: text(sentence("config.profile.introduction"), { max: 500 }),
};
