import { integer, json, option, secret, text } from "#plugin-api";

/** Configuration of the mail-input plugin. */
export default {
  listenAddress: text("Listen address.", { max: 255, default: "127.0.0.1" }),
  port: integer("Listen port.", { min: 1, max: 65_535, default: 2_525 }),
  relays: json("Mail servers allowed to connect: a list of addresses and networks (10.0.0.0/8).", {
    default: ["127.0.0.1"],
  }),
  senders: json('Allowed senders: a list of addresses, or "@example.org" for a whole domain.', {
    default: [],
  }),
  token: secret("Token required in the subject of each mail; at least 12 characters without spaces."),
  authenticationServer: text(
    "Id of the relay in its `Authentication-Results`. If set, mails without dmarc=pass or dkim=pass for the sender's domain are refused.",
    { max: 255 },
  ),
  imapHost: text("Mail server with a mailbox to read over IMAP, such as imap.example.org. Empty: none.", { max: 255 }),
  imapPort: integer("Port of the mail server: 993 with `tls`, 143 with `starttls`.", {
    min: 1,
    max: 65_535,
    default: 993,
  }),
  imapSecurity: option(
    "`tls` encrypts from the start, `starttls` requires an upgrade to TLS, `none` never encrypts.",
    ["tls", "starttls", "none"],
    { default: "tls" },
  ),
  imapCertificateAuthority: text("CA certificate of the mail server in PEM. Default: the system's CAs.", {
    max: 65_536,
  }),
  imapUsername: text("User name of the mailbox.", { max: 255 }),
  imapPassword: secret("Password of the mailbox.", {
    boundTo: ["imapHost", "imapPort", "imapSecurity", "imapUsername"],
  }),
  imapMailbox: text("Folder to read.", { max: 255, default: "INBOX" }),
  perMinute: integer("Rate limit in mails per minute.", { min: 1, max: 600, default: 30 }),
};
