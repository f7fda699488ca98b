import { boolean, integer, option, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the sip plugin. */
export default {
  port: integer(sentence("config.port"), { min: 0, max: 65_535, default: 5_060 }),
  tlsPort: integer(sentence("config.tls-port"), { min: 0, max: 65_535, default: 5_061 }),
  tlsCertificate: text(sentence("config.tls-certificate"), { max: 65_536 }),
  tlsKey: secret(sentence("config.tls-key"), { max: 16_384 }),
  certificateAuthority: text(sentence("config.certificate-authority"), {
    max: 65_536,
  }),
  address: text(sentence("config.address"), { max: 15 }),
  firstMediaPort: integer(sentence("config.first-media-port"), { min: 1_024, max: 65_534, default: 16_384 }),
  lastMediaPort: integer(sentence("config.last-media-port"), { min: 1_025, max: 65_535, default: 20_479 }),
  callsPerSecond: integer(sentence("config.calls-per-second"), { min: 1, max: 1_000, default: 200 }),
  callerName: text(sentence("config.caller-name"), { min: 1, max: 60, default: "Carillon" }),
  srtp: option(sentence("config.srtp"), ["off", "offer", "require"], { default: "offer" }),
  trustedAddresses: text(sentence("config.trusted-addresses"), { max: 4_096 }),
  incomingCalls: integer(sentence("config.incoming-calls"), { min: 0, max: 200, default: 20 }),
  silenceSeconds: integer(sentence("config.silence-seconds"), { min: 5, max: 600, default: 20, unit: "s" }),
  user: text(sentence("config.user"), { max: 128 }),
  password: secret(sentence("config.password"), { boundTo: ["user"] }),
  realm: text(sentence("config.realm"), { min: 1, max: 64, without: '"', default: "carillon" }),
  digest: option(sentence("config.digest"), ["MD5", "SHA-256", "both"], {
    default: "MD5",
  }),
  digestWithoutQop: boolean(sentence("config.digest-without-qop"), { default: false }),
  accounts: secret(sentence("config.accounts"), { max: 262_144 }),
};
