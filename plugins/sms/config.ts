import { boolean, integer, option, secret, text } from "#plugin-api";

/** The configuration of text messages. */
export default {
  transport: option("How messages leave: by a provider's SMPP, or by its HTTP gateway.", ["smpp", "http"], {
    default: "smpp",
  }),
  sender: text("Number or name that messages come from, as the provider allows it.", { max: 20 }),
  language: option("Language of the few words around a message.", ["en", "de"], { default: "en" }),
  mostParts: integer("Parts that a long message may have; what is longer is cut.", { min: 1, max: 10, default: 4 }),
  host: text("SMPP: the provider's host.", { max: 255 }),
  port: integer("SMPP: its port.", { min: 1, max: 65_535, default: 2_775 }),
  tls: boolean("SMPP: encrypted from the start.", { default: false }),
  certificateAuthority: text("SMPP: certificate in PEM of who signed the provider's; the system's unless given.", {
    max: 65_536,
  }),
  systemId: text("SMPP: the account.", { max: 15 }),
  password: secret("SMPP: its password."),
  systemType: text("SMPP: what some providers want to be told.", { max: 12, default: "" }),
  receipts: boolean("SMPP: ask for a receipt from each handset.", { default: true }),
  longTexts: option(
    "SMPP: how the provider takes long texts: parts with a header of their own, parts with numbers beside them (sar_*), or whole (message_payload).",
    ["joined", "numbered", "whole"],
    { default: "joined" },
  ),
  atOnce: integer("Messages without the provider's word at once.", { min: 1, max: 100, default: 10 }),
  gatewayUrl: text(
    "HTTP: address that takes messages, POST; `{{to}}`, `{{text}}`, `{{sender}}`, `{{id}}` are put in.",
    {
      max: 2_000,
    },
  ),
  gatewayBody: text("HTTP: the request's body, with the same places, filled in as its type needs.", {
    max: 4_000,
    default: '{"to": "{{to}}", "from": "{{sender}}", "text": "{{text}}"}',
  }),
  gatewayType: option("HTTP: type of the body.", ["application/json", "application/x-www-form-urlencoded"], {
    default: "application/json",
  }),
  gatewayAuthorization: secret("HTTP: value of the header Authorization."),
  gatewayAnswerId: text(
    "HTTP: where the gateway's answer, JSON, holds its name of a message (`messages.0.id`), by which receipts name it; without, they name the value of `{{id}}`.",
    { max: 100 },
  ),
  receiptState: text(
    "HTTP: member of a receipt, brought to /x/sms/receipts, that holds the message's state; no receipts are expected without.",
    { max: 64 },
  ),
  receiptId: text("HTTP: member of a receipt that names the message.", { max: 64, default: "id" }),
  receiptArrived: text("HTTP: states of a message that the handset has, separated by commas.", {
    max: 500,
    default: "delivered,DELIVRD",
  }),
  receiptLost: text("HTTP: states of a message that will never arrive, separated by commas.", {
    max: 500,
    default: "failed,undelivered,undeliverable,rejected,expired,UNDELIV,DELETED,REJECTD",
  }),
  inboundToken: secret("HTTP: whoever brings answers or receipts says this as `?token=` or as a bearer."),
  inboundFrom: text("HTTP: member of an answer that holds the sender's number.", { max: 64, default: "from" }),
  inboundText: text("HTTP: member of an answer that holds its text.", { max: 64, default: "text" }),
};
