import { boolean, integer, option, secret, text } from "#plugin-api";

/** Values of `provider`; their forms are in the folder `providers`. */
const PROVIDER_NAMES = [
  "custom",
  "twilio",
  "vonage",
  "sinch",
  "messagebird",
  "plivo",
  "telnyx",
  "kannel",
  "playsms",
  "gammu",
  "sms-gate",
  "httpsms",
  "textbee",
  "traccar",
] as const;

/** Configuration of the sms plugin. */
export default {
  transport: option("Protocol of the provider: SMPP or an HTTP gateway.", ["smpp", "http"], {
    default: "smpp",
  }),
  sender: text("Sender number or name, as permitted by the provider.", { max: 20 }),
  country: text(
    "Country of numbers without a country code (ISO 3166, such as DE). Default: the setting site.country.",
    {
      max: 2,
    },
  ),
  allowedPrefixes: text(
    "Beginnings of the numbers that get messages, separated by commas, such as `+49, +43`; short codes in full. Default: all countries.",
    { max: 1_000 },
  ),
  premiumNumbers: boolean("Send to premium-rate numbers.", { default: false }),
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
  provider: option("HTTP: provider or gateway software; `custom` is described by the settings below.", PROVIDER_NAMES, {
    default: "custom",
  }),
  gatewayUrl: text(
    "HTTP: URL of the gateway. `custom`: with the placeholders `{{to}}`, `{{text}}`, `{{sender}}`, `{{id}}`, `{{user}}`, `{{password}}` and `{{receiptUrl}}`. Default: the provider's.",
    {
      max: 2_000,
    },
  ),
  gatewayUser: text("HTTP: account, key or user name at the provider.", { max: 255 }),
  gatewayPassword: secret("HTTP: token, secret or password at the provider.", {
    boundTo: ["provider", "gatewayUrl", "gatewayUser"],
  }),
  gatewayMethod: option("HTTP: method of `custom`.", ["POST", "GET"], { default: "POST" }),
  gatewayBody: text(
    'HTTP: request body with the same placeholders, escaped as its content type requires. Default: that of the provider; `custom`: `{"to": "{{to}}", "from": "{{sender}}", "text": "{{text}}"}`.',
    { max: 4_000 },
  ),
  gatewayType: option("HTTP: content type of the body.", ["application/json", "application/x-www-form-urlencoded"], {
    default: "application/json",
  }),
  gatewayAuthorization: secret("HTTP: value of the Authorization header of `custom`.", { boundTo: ["gatewayUrl"] }),
  gatewayHeader: secret("HTTP: a further header of `custom`, such as `X-API-Key: …`.", { boundTo: ["gatewayUrl"] }),
  gatewaySuccessStatus: text("HTTP: statuses of accepted messages, such as `200,202` or `200-299`. Default: 200-299.", {
    max: 100,
  }),
  gatewaySuccessPath: text(
    "HTTP: path of the result in the gateway's JSON or XML response (`messages.*.status`; `*`: each of a list). All values must match gatewaySuccessPattern, or without it must not mean no.",
    { max: 200 },
  ),
  gatewaySuccessPattern: text(
    "HTTP: regular expression of the result, or of the whole response without gatewaySuccessPath. Its first group is the message id. Default: responses without an error.",
    { max: 500 },
  ),
  gatewayReasonPath: text("HTTP: paths of the reason in the response to a refused message, separated by commas.", {
    max: 200,
  }),
  gatewayAnswerId: text(
    "HTTP: path of the message id in the gateway's response (`messages.0.id`), which receipts refer to. Default: the provider's; `custom`: receipts refer to the value of `{{id}}`.",
    { max: 100 },
  ),
  receiptState: text(
    "HTTP: path of the message state in a receipt sent to /x/sms/receipts. Default: the provider's; `custom`: no receipts are expected.",
    { max: 64 },
  ),
  receiptId: text("HTTP: path of the message id in a receipt. Default: the provider's; `custom`: id.", { max: 64 }),
  receiptArrived: text(
    "HTTP: states of delivered messages, separated by commas. Default: the provider's; `custom`: delivered,DELIVRD.",
    { max: 500 },
  ),
  receiptLost: text(
    "HTTP: states of permanently failed messages, separated by commas. Default: the provider's; `custom`: failed,undelivered,undeliverable,rejected,expired,UNDELIV,DELETED,REJECTD.",
    { max: 500 },
  ),
  inboundToken: secret("HTTP: token required of inbound messages and receipts, as `?token=` or bearer token."),
  signatureSecret: secret(
    "HTTP: key of the provider's signatures on inbound messages and receipts, required of them instead of the token.",
    { boundTo: ["provider"] },
  ),
  inboundFrom: text(
    "HTTP: path of the sender's number in an inbound message. Default: the provider's; `custom`: from.",
    {
      max: 64,
    },
  ),
  inboundText: text("HTTP: path of the text in an inbound message. Default: the provider's; `custom`: text.", {
    max: 64,
  }),
};
