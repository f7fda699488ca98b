import { boolean, integer, option, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

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
  transport: option(sentence("config.transport"), ["smpp", "http"], {
    default: "smpp",
  }),
  sender: text(sentence("config.sender"), { max: 20 }),
  country: text(sentence("config.country"), {
    max: 2,
  }),
  allowedPrefixes: text(sentence("config.allowed-prefixes"), { max: 1_000 }),
  premiumNumbers: boolean(sentence("config.premium-numbers"), { default: false }),
  language: option(sentence("config.language"), ["en", "de"], { default: "en" }),
  mostParts: integer(sentence("config.most-parts"), {
    min: 1,
    max: 10,
    default: 4,
  }),
  host: text(sentence("config.host"), { max: 255 }),
  port: integer(sentence("config.port"), { min: 1, max: 65_535, default: 2_775 }),
  tls: boolean(sentence("config.tls"), { default: false }),
  certificateAuthority: text(sentence("config.certificate-authority"), {
    max: 65_536,
  }),
  systemId: text(sentence("config.system-id"), { max: 15 }),
  password: secret(sentence("config.password"), { boundTo: ["host", "port", "tls", "systemId"] }),
  systemType: text(sentence("config.system-type"), { max: 12, default: "" }),
  receipts: boolean(sentence("config.receipts"), { default: true }),
  longTexts: option(sentence("config.long-texts"), ["joined", "numbered", "whole"], { default: "joined" }),
  senderTon: integer(sentence("config.sender-ton"), { min: 0, max: 6 }),
  senderNpi: integer(sentence("config.sender-npi"), {
    min: 0,
    max: 18,
  }),
  recipientTon: integer(sentence("config.recipient-ton"), {
    min: 0,
    max: 6,
  }),
  recipientNpi: integer(sentence("config.recipient-npi"), {
    min: 0,
    max: 18,
  }),
  atOnce: integer(sentence("config.at-once"), { min: 1, max: 100, default: 10 }),
  provider: option(sentence("config.provider"), PROVIDER_NAMES, {
    default: "custom",
  }),
  gatewayUrl: text(sentence("config.gateway-url"), {
    max: 2_000,
  }),
  gatewayUser: text(sentence("config.gateway-user"), { max: 255 }),
  gatewayPassword: secret(sentence("config.gateway-password"), {
    boundTo: ["provider", "gatewayUrl", "gatewayUser"],
  }),
  gatewayMethod: option(sentence("config.gateway-method"), ["POST", "GET"], { default: "POST" }),
  gatewayBody: text(sentence("config.gateway-body"), { max: 4_000 }),
  gatewayType: option(sentence("config.gateway-type"), ["application/json", "application/x-www-form-urlencoded"], {
    default: "application/json",
  }),
  gatewayAuthorization: secret(sentence("config.gateway-authorization"), { boundTo: ["gatewayUrl"] }),
  gatewayHeader: secret(sentence("config.gateway-header"), { boundTo: ["gatewayUrl"] }),
  gatewaySuccessStatus: text(sentence("config.gateway-success-status"), {
    max: 100,
  }),
  gatewaySuccessPath: text(sentence("config.gateway-success-path"), { max: 200 }),
  gatewaySuccessPattern: text(sentence("config.gateway-success-pattern"), { max: 500 }),
  gatewayReasonPath: text(sentence("config.gateway-reason-path"), {
    max: 200,
  }),
  gatewayAnswerId: text(sentence("config.gateway-answer-id"), { max: 100 }),
  receiptState: text(sentence("config.receipt-state"), { max: 64 }),
  receiptId: text(sentence("config.receipt-id"), { max: 64 }),
  receiptArrived: text(sentence("config.receipt-arrived"), { max: 500 }),
  receiptLost: text(sentence("config.receipt-lost"), { max: 500 }),
  inboundToken: secret(sentence("config.inbound-token")),
  signatureSecret: secret(sentence("config.signature-secret"), { boundTo: ["provider"] }),
  inboundFrom: text(sentence("config.inbound-from"), {
    max: 64,
  }),
  inboundText: text(sentence("config.inbound-text"), {
    max: 64,
  }),
};
