import { integer, json, secret, text } from "#plugin-api";

/** The configuration of inputs by e-mail. */
export default {
  listenAddress: text("Address of this machine on which mail is taken.", { max: 255, default: "127.0.0.1" }),
  port: integer("Port on which mail is taken.", { min: 1, max: 65_535, default: 2_525 }),
  relays: json("Mail servers that may hand mail over: a list of addresses and networks (10.0.0.0/8).", {
    default: ["127.0.0.1"],
  }),
  senders: json('Who may start messages: a list of addresses, and of "@example.org" for everybody there.', {
    default: [],
  }),
  token: secret("A word that stands in the subject of each mail; at least 12 characters without spaces."),
  authenticationServer: text(
    "Name by which the relay signs its `Authentication-Results`; mails without dmarc=pass, or dkim=pass for the sender's domain, are refused then.",
    { max: 255 },
  ),
  perMinute: integer("Mails taken in a minute.", { min: 1, max: 600, default: 30 }),
};
