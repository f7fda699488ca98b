import { boolean, integer, option, secret, text } from "#plugin-api";

/** Configuration of the sms plugin. */
export default {
  transport: option("Protocol of the provider: SMPP or an HTTP gateway.", ["smpp", "http"], {
    default: "smpp",
  }),
  sender: text("Sender number or name, as permitted by the provider.", { max: 20 }),
  language: option("Language of the texts added to messages.", ["en", "de"], { default: "en" }),
  mostParts: integer("Maximum number of segments of a long message; longer text is truncated.", {
    min: 1,
    max: 10,
    default: 4,
  }),
  host: text("SMPP: host name of the provider.", { max: 255 }),
  port: integer("SMPP: port of the provider.", { min: 1, max: 65_535, default: 2_775 }),
  tls: boolean("SMPP: connect over TLS.", { default: false }),
  certificateAuthority: text("SMPP: CA certificate of the provider in PEM. Default: the system's CAs.", {
    max: 65_536,
  }),
  systemId: text("SMPP: account (system_id).", { max: 15 }),
  password: secret("SMPP: password of the account.", { boundTo: ["host", "port", "tls", "systemId"] }),
  systemType: text("SMPP: system_type, required by some providers.", { max: 12, default: "" }),
  receipts: boolean("SMPP: request delivery receipts.", { default: true }),
  longTexts: option(
    "SMPP: encoding of long texts: segments with a user data header (joined), segments with sar_* parameters (numbered), or message_payload (whole).",
    ["joined", "numbered", "whole"],
    { default: "joined" },
  ),
  senderTon: integer("SMPP: type of number of the sender (source_addr_ton). Default: by its form.", { min: 0, max: 6 }),
  senderNpi: integer("SMPP: numbering plan of the sender (source_addr_npi). Default: by its form.", {
    min: 0,
    max: 18,
  }),
  recipientTon: integer("SMPP: type of number of recipients (dest_addr_ton). Default: by its form.", {
    min: 0,
    max: 6,
  }),
  recipientNpi: integer("SMPP: numbering plan of recipients (dest_addr_npi). Default: by its form.", {
    min: 0,
    max: 18,
  }),
  atOnce: integer("Maximum number of unacknowledged messages.", { min: 1, max: 100, default: 10 }),
  gatewayUrl: text(
    "HTTP: URL for POST requests, with the placeholders `{{to}}`, `{{text}}`, `{{sender}}` and `{{id}}`.",
    {
      max: 2_000,
    },
  ),
  gatewayBody: text("HTTP: request body with the same placeholders, escaped as its content type requires.", {
    max: 4_000,
    default: '{"to": "{{to}}", "from": "{{sender}}", "text": "{{text}}"}',
  }),
  gatewayType: option("HTTP: content type of the body.", ["application/json", "application/x-www-form-urlencoded"], {
    default: "application/json",
  }),
  gatewayAuthorization: secret("HTTP: value of the Authorization header.", { boundTo: ["gatewayUrl"] }),
  gatewayAnswerId: text(
    "HTTP: path of the message id in the gateway's JSON response (`messages.0.id`), which receipts refer to. Default: receipts refer to the value of `{{id}}`.",
    { max: 100 },
  ),
  receiptState: text(
    "HTTP: member of a receipt sent to /x/sms/receipts that holds the message state. Empty: no receipts are expected.",
    { max: 64 },
  ),
  receiptId: text("HTTP: member of a receipt that holds the message id.", { max: 64, default: "id" }),
  receiptArrived: text("HTTP: states of delivered messages, separated by commas.", {
    max: 500,
    default: "delivered,DELIVRD",
  }),
  receiptLost: text("HTTP: states of permanently failed messages, separated by commas.", {
    max: 500,
    default: "failed,undelivered,undeliverable,rejected,expired,UNDELIV,DELETED,REJECTD",
  }),
  inboundToken: secret("HTTP: token required of inbound messages and receipts, as `?token=` or bearer token."),
  inboundFrom: text("HTTP: member of an inbound message that holds the sender's number.", { max: 64, default: "from" }),
  inboundText: text("HTTP: member of an inbound message that holds its text.", { max: 64, default: "text" }),
};
