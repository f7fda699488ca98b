import { integer, json, option, secret, text } from "#plugin-api";

/** The configuration of e-mail. */
export default {
  host: text("Mail server that takes messages for sending: smtp.example.org.", { max: 255 }),
  port: integer("Its port: 587 for submission, 465 with `tls`, 25 within an organisation.", {
    min: 1,
    max: 65_535,
    default: 587,
  }),
  security: option(
    "`starttls` begins in the clear and refuses to go on without TLS, `tls` is encrypted from the start, `none` is never.",
    ["starttls", "tls", "none"],
    { default: "starttls" },
  ),
  certificateAuthority: text("Certificate in PEM of who signed the server's; the system's authorities unless given.", {
    max: 65_536,
  }),
  username: text("User name at the mail server; none for one that asks for none.", { max: 255 }),
  password: secret("Password at the mail server."),
  from: text("Sender's address.", { max: 254 }),
  fromName: text("Sender's name, as mail programs show it.", { max: 140, default: "Carillon" }),
  replyTo: text("Where replies go; to the sender's address unless given.", { max: 254 }),
  language: option("Language of the few words around a message.", ["en", "de"], { default: "en" }),
  connections: integer("Connections to the mail server at once.", { min: 1, max: 20, default: 4 }),
  dkimSelector: text("Name of the DKIM key in the DNS; mails are signed when it and the key are given.", { max: 63 }),
  dkimPrivateKey: secret("RSA key in PEM that signs mails of the sender's domain."),
  returnDomain: text(
    "Domain to which mails come back that can't be delivered (bounces.example.org): the organisation's mail server hands its mail to the appliance. They go to the sender's address unless given.",
    { max: 190 },
  ),
  returnListenAddress: text("Address of this machine on which mails that come back are taken.", {
    max: 255,
    default: "127.0.0.1",
  }),
  returnPort: integer("Port on which they are taken.", { min: 1, max: 65_535, default: 2_526 }),
  returnRelays: json("Mail servers that may hand them over: a list of addresses and networks (10.0.0.0/8).", {
    default: ["127.0.0.1"],
  }),
};
