import { integer, json, secret, text } from "#plugin-api";

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
  perMinute: integer("Rate limit in mails per minute.", { min: 1, max: 600, default: 30 }),
};
