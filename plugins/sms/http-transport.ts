import type { PluginContext, PluginRequest, SendResult } from "#plugin-api";
import { createReceiptTracker, receiptFailure } from "./delivery-receipts.ts";
import { jsonValueAt } from "./gateway-receipts.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

/** Settings of an HTTP gateway. */
export interface HttpTransportDeps extends Pick<SmsTransportDeps, "sender" | "clock" | "onReceipt"> {
  url: string;
  /** Templates with `{{to}}`, `{{text}}`, `{{sender}}` and `{{id}}`. */
  body: string;
  type: "application/json" | "application/x-www-form-urlencoded";
  /** Value of the Authorization header; null for none. */
  authorization: string | null;
  fetch: PluginContext["fetch"];
  /** The gateway sends receipts. */
  receipts: boolean;
  /** Path of the message id in the response; null to use the value of `{{id}}`. */
  answerId: string | null;
}

const RESPONSE_TIMEOUT_MS = 20_000;

/** Posts each message; a 2xx response accepts it. */
export function createHttpTransport(deps: HttpTransportDeps): SmsTransport {
  const { url, body, type, authorization, sender, fetch, answerId } = deps;
  const receipts = createReceiptTracker(deps.clock, deps.onReceipt);
  const inBody = type === "application/json" ? escapeJson : encodeURIComponent;
  return {
    async send(to, text, id) {
      const values = { to, text, sender: sender ?? "", id: String(id ?? "") };
      try {
        const { status, body: responseBody } = await fetch(fillTemplate(url, values, encodeURIComponent), {
          method: "POST",
          headers: { "content-type": type, ...(authorization === null ? {} : { authorization }) },
          body: fillTemplate(body, values, inBody),
          timeoutMs: RESPONSE_TIMEOUT_MS,
        });
        if (!deps.receipts || id === null) return handoffResult(status, responseBody, "accepted");
        const name = answerId === null ? String(id) : jsonValueAt(responseBody, answerId);
        const result = handoffResult(status, responseBody, name === "" ? "accepted" : "sent");
        if (result.taken && answerId !== null && name !== "") receipts.expect(id, [name]);
        return result;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return { taken: false, reason: `gateway request failed: ${message}`, retryable: true, down: true };
      }
    },
    handleReceipt(receipt) {
      if (answerId !== null) receipts.handle(receipt);
      // Receipts that refer to the delivery id need no tracking.
      else if (receipt.arrived !== null && /^\d{1,15}$/.test(receipt.name))
        deps.onReceipt(Number(receipt.name), receiptFailure(receipt));
    },
  };
}

/** Authentication and server errors would affect other messages as well. */
function handoffResult(status: number, body: string, level: "sent" | "accepted"): SendResult {
  if (status >= 200 && status < 300) return { taken: true, level };
  const reason = `the gateway responded with HTTP ${status}${body === "" ? "" : `: ${body.slice(0, 200)}`}`;
  const isDown = status >= 500 || status === 401 || status === 403;
  return { taken: false, reason, retryable: isDown || status === 429, down: isDown };
}

function fillTemplate(
  template: string,
  values: Readonly<Record<string, string>>,
  escapeText: (text: string) => string,
): string {
  return template.replace(/\{\{(to|text|sender|id)\}\}/g, (_, name: string) => escapeText(values[name] ?? ""));
}

/** Escapes text for a JSON string. */
function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Values of a request: its query, and its body as JSON or form. */
export function requestValues({ url, headers, body }: PluginRequest): Record<string, string> {
  const query = new URL(url, "http://here").searchParams;
  const text = Buffer.from(body).toString("utf8");
  const isJson = String(headers["content-type"] ?? "").startsWith("application/json");
  const form = isJson ? parseJsonValues(text) : Object.fromEntries(new URLSearchParams(text));
  return { ...Object.fromEntries(query), ...form };
}

function parseJsonValues(text: string): Record<string, string> {
  try {
    const value: unknown = JSON.parse(text);
    const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
    const isPlain = (each: unknown): boolean => typeof each === "string" || typeof each === "number";
    return Object.fromEntries(members.flatMap(([name, each]) => (isPlain(each) ? [[name, String(each)]] : [])));
  } catch {
    return {};
  }
}
