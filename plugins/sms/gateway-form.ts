import type { ConfigOf } from "#plugin-api";
import type config from "./config.ts";
import { UNKNOWN_GATEWAY } from "./gateway-responses.ts";
import type { GatewayMessage, GatewayRequest, ProviderForm, ReceiptForm } from "./providers/provider-form.ts";
import { PROVIDERS } from "./providers/providers.ts";
import { sentence } from "./sentences.ts";

type GatewayConfig = ConfigOf<typeof config>;

const DEFAULT_BODY = '{"to": "{{to}}", "from": "{{sender}}", "text": "{{text}}"}';
const DEFAULT_ARRIVED = "delivered,DELIVRD";
const DEFAULT_LOST = "failed,undelivered,undeliverable,rejected,expired,UNDELIV,DELETED,REJECTD";

/** The form of the configured provider, with the settings that override it; a text says what is missing. */
export function gatewayForm(given: GatewayConfig): (ProviderForm & { url: string }) | string {
  const known = PROVIDERS[given.provider ?? "custom"];
  const url = given.gatewayUrl ?? known?.url ?? null;
  if (!url) return known ? sentence("url-missing-for", { provider: String(given.provider) }) : sentence("url-missing");
  if (known && !given.gatewayPassword) return sentence("password-missing-for", { provider: String(given.provider) });
  const base = known ?? CUSTOM;
  const { gatewaySuccessStatus, gatewaySuccessPath, gatewaySuccessPattern, gatewayReasonPath } = given;
  const overridesSuccess = Boolean(gatewaySuccessPath ?? gatewaySuccessPattern);
  const success = overridesSuccess
    ? { ...base.success, path: gatewaySuccessPath || null, pattern: gatewaySuccessPattern || null, refusal: null }
    : base.success;
  return {
    ...base,
    url: url.replace(/\/+$/, known ? "" : "$&"),
    request: known && !given.gatewayBody ? known.request : (message) => customRequest(message, given),
    success: {
      ...success,
      statuses: gatewaySuccessStatus || success.statuses,
      reason: gatewayReasonPath || success.reason,
    },
    messageId: given.gatewayAnswerId || base.messageId,
    receipt: receiptForm(given, base.receipt),
    inbound: {
      ...base.inbound,
      from: given.inboundFrom || base.inbound.from,
      text: given.inboundText || base.inbound.text,
    },
  };
}

const CUSTOM: ProviderForm = {
  url: null,
  request: ({ url }) => ({ url, method: "POST" }),
  success: UNKNOWN_GATEWAY,
  messageId: null,
  receipt: null,
  inbound: { from: "from", text: "text", event: null },
  signature: null,
};

/** The state must be configured for unknown gateways; without it no receipts are expected. */
function receiptForm(given: GatewayConfig, base: ReceiptForm | null): ReceiptForm | null {
  const state = given.receiptState || base?.state;
  if (!state) return null;
  return {
    id: given.receiptId || base?.id || "id",
    state,
    arrived: given.receiptArrived || base?.arrived || DEFAULT_ARRIVED,
    lost: given.receiptLost || base?.lost || DEFAULT_LOST,
    error: base?.error ?? null,
  };
}

/** Request from the templates of the settings. */
function customRequest(message: GatewayMessage, given: GatewayConfig): GatewayRequest {
  const type = given.gatewayType ?? "application/json";
  const method = given.gatewayMethod ?? "POST";
  const url = fillTemplate(message.url, message, encodeURIComponent);
  const { gatewayAuthorization: authorization, gatewayHeader } = given;
  const [, name, value] = /^\s*([\w-]+)\s*:\s*(.+?)\s*$/.exec(gatewayHeader ?? "") ?? [];
  const headers = {
    ...(authorization && { authorization }),
    ...(name !== undefined && value !== undefined && { [name.toLowerCase()]: value }),
  };
  if (method === "GET") return { url, method, headers };
  const inBody = type === "application/json" ? escapeJson : encodeURIComponent;
  return {
    url,
    method,
    headers,
    body: { type, text: fillTemplate(given.gatewayBody || DEFAULT_BODY, message, inBody) },
  };
}

function fillTemplate(template: string, message: GatewayMessage, escapeText: (text: string) => string): string {
  return template.replace(/\{\{(to|text|sender|id|user|password|receiptUrl)\}\}/g, (_, name: keyof GatewayMessage) =>
    escapeText(String(message[name])),
  );
}

/** Escapes text for a JSON string. */
function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
