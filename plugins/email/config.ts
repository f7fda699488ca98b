import { integer, json, list, option, secret, text } from "#plugin-api";

/** Configuration of the email plugin. */
export default {
  host: text("Host name of the mail server, such as smtp.example.org.", { max: 255 }),
  fallbackHosts: list(
    "Host names of further mail servers, asked in this order while those before cannot be reached. Port, encryption and log-in are the same.",
    text("Host name.", { max: 255 }),
    { maxItems: 4 },
  ),
  port: integer("Port of the mail server: 587 for submission, 465 with `tls`, 25 within an organisation.", {
    min: 1,
    max: 65_535,
    default: 587,
  }),
  security: option(
    "`starttls` requires an upgrade to TLS, `tls` encrypts from the start, `none` never encrypts.",
    ["starttls", "tls", "none"],
    { default: "starttls" },
  ),
  certificateAuthority: text("CA certificate of the mail server in PEM. Default: the system's CAs.", {
    max: 65_536,
  }),
  username: text("User name at the mail server. Empty: no authentication.", { max: 255 }),
  password: secret("Password at the mail server.", {
    boundTo: ["host", "fallbackHosts", "port", "security", "username"],
  }),
  from: text("Sender address.", { max: 254 }),
  fromName: text("Sender name.", { max: 140, default: "Carillon" }),
  replyTo: text("Reply address. Default: the sender address.", { max: 254 }),
  language: option("Language of the texts added to messages.", ["en", "de"], { default: "en" }),
  connections: integer("Maximum number of concurrent connections to the mail server.", { min: 1, max: 20, default: 4 }),
  dkimSelector: text("Selector of the DKIM key in the DNS. Mails are signed if selector and key are set.", { max: 63 }),
  dkimPrivateKey: secret("DKIM key: an RSA key in PEM for the sender's domain."),
  returnDomain: text(
    "Domain for bounces (bounces.example.org), whose mail the organisation's mail server forwards to the appliance. Default: bounces go to the sender address.",
    { max: 190 },
  ),
  returnListenAddress: text("Listen address for bounces.", {
    max: 255,
    default: "127.0.0.1",
  }),
  returnPort: integer("Listen port for bounces.", { min: 1, max: 65_535, default: 2_526 }),
  returnRelays: json("Mail servers allowed to deliver bounces: a list of addresses and networks (10.0.0.0/8).", {
    default: ["127.0.0.1"],
  }),
};
