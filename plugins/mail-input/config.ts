import { integer, json, option, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the mail-input plugin. */
export default {
  listenAddress: text(sentence("config.listen-address"), { max: 255, default: "127.0.0.1" }),
  port: integer(sentence("config.port"), { min: 1, max: 65_535, default: 2_525 }),
  relays: json(sentence("config.relays"), {
    default: ["127.0.0.1"],
  }),
  senders: json(sentence("config.senders"), {
    default: [],
  }),
  token: secret(sentence("config.token")),
  authenticationServer: text(sentence("config.authentication-server"), { max: 255 }),
  imapHost: text(sentence("config.imap-host"), { max: 255 }),
  imapPort: integer(sentence("config.imap-port"), {
    min: 1,
    max: 65_535,
    default: 993,
  }),
  imapSecurity: option(sentence("config.imap-security"), ["tls", "starttls", "none"], { default: "tls" }),
  imapCertificateAuthority: text(sentence("config.imap-certificate-authority"), {
    max: 65_536,
  }),
  imapUsername: text(sentence("config.imap-username"), { max: 255 }),
  imapPassword: secret(sentence("config.imap-password"), {
    boundTo: ["imapHost", "imapPort", "imapSecurity", "imapUsername"],
  }),
  imapMailbox: text(sentence("config.imap-mailbox"), { max: 255, default: "INBOX" }),
  perMinute: integer(sentence("config.per-minute"), { min: 1, max: 600, default: 30 }),
};
