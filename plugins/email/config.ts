import { integer, json, list, option, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the email plugin. */
export default {
  host: text(sentence("config.host"), { max: 255 }),
  fallbackHosts: list(sentence("config.fallback-hosts"), text(sentence("config.fallback-host"), { max: 255 }), {
    maxItems: 4,
  }),
  port: integer(sentence("config.port"), {
    min: 1,
    max: 65_535,
    default: 587,
  }),
  security: option(sentence("config.security"), ["starttls", "tls", "none"], { default: "starttls" }),
  certificateAuthority: text(sentence("config.certificate-authority"), {
    max: 65_536,
  }),
  username: text(sentence("config.username"), { max: 255 }),
  password: secret(sentence("config.password"), {
    boundTo: ["host", "fallbackHosts", "port", "security", "username"],
  }),
  from: text(sentence("config.from"), { max: 254 }),
  fromName: text(sentence("config.from-name"), { max: 140, default: "Carillon" }),
  replyTo: text(sentence("config.reply-to"), { max: 254 }),
  language: option(sentence("config.language"), ["en", "de"], { default: "en" }),
  connections: integer(sentence("config.connections"), { min: 1, max: 20, default: 4 }),
  dkimSelector: text(sentence("config.dkim-selector"), { max: 63 }),
  dkimPrivateKey: secret(sentence("config.dkim-private-key")),
  returnDomain: text(sentence("config.return-domain"), { max: 190 }),
  returnListenAddress: text(sentence("config.return-listen-address"), {
    max: 255,
    default: "127.0.0.1",
  }),
  returnPort: integer(sentence("config.return-port"), { min: 1, max: 65_535, default: 2_526 }),
  returnRelays: json(sentence("config.return-relays"), {
    default: ["127.0.0.1"],
  }),
};
