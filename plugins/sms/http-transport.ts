import type { PluginContext, PluginRequest, SendResult } from "#plugin-api";
import { createReceiptTracker, receiptFailure } from "./delivery-receipts.ts";
import { jsonValueAt } from "./gateway-receipts.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

/** A provider's gateway. */
export interface HttpTransportDeps extends Pick<SmsTransportDeps, "sender" | "clock" | "onReceipt"> {
  url: string;
  /** Templates with `{{to}}`, `{{text}}`, `{{sender}}` and `{{id}}`. */
  body: string;
  type: "application/json" | "application/x-www-form-urlencoded";
  /** Value of the header; null for none. */
  authorization: string | null;
  fetch: PluginContext["fetch"];
  /** It tells what became of messages. */
  receipts: boolean;
  /** Where its answer holds the name by which it does; null for the value of `{{id}}`. */
  answerId: string | null;
}

const RESPONSE_TIMEOUT_MS = 20_000;

/** Posts each message; a 2xx takes it. */
export function createHttpTransport(needs: HttpTransportDeps): SmsTransport {
  const { url, body, type, authorization, sender, fetch, answerId } = needs;
  const receipts = createReceiptTracker(needs.clock, needs.onReceipt);
  const inBody = type === "application/json" ? escapeJson : encodeURIComponent;
  return {
    async send(to, text, id) {
      const values = { to, text, sender: sender ?? "", id: String(id ?? "") };
      try {
        const { status, body: said } = await fetch(fillTemplate(url, values, encodeURIComponent), {
          method: "POST",
          headers: { "content-type": type, ...(authorization === null ? {} : { authorization }) },
          body: fillTemplate(body, values, inBody),
          timeoutMs: RESPONSE_TIMEOUT_MS,
        });
        if (!needs.receipts || id === null) return handoffResult(status, said, "accepted");
        const name = answerId === null ? String(id) : jsonValueAt(said, answerId);
        const result = handoffResult(status, said, name === "" ? "accepted" : "sent");
        if (result.taken && answerId !== null && name !== "") receipts.expect(id, [name]);
        return result;
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        return { taken: false, reason: `the gateway: ${words}`, retryable: true, down: true };
      }
    },
    handleReceipt(receipt) {
      if (answerId !== null) receipts.handle(receipt);
      // Named by our own number, it need not be remembered.
      else if (receipt.arrived !== null && /^\d{1,15}$/.test(receipt.name))
        needs.onReceipt(Number(receipt.name), receiptFailure(receipt));
    },
  };
}

/** A gateway that refuses who asks, or has a fault of its own, would refuse others as well. */
function handoffResult(status: number, said: string, level: "sent" | "accepted"): SendResult {
  if (status >= 200 && status < 300) return { taken: true, level };
  const reason = `the gateway answered ${status}${said === "" ? "" : `: ${said.slice(0, 200)}`}`;
  const isOwnFault = status >= 500 || status === 401 || status === 403;
  return { taken: false, reason, retryable: isOwnFault || status === 429, down: isOwnFault };
}

function fillTemplate(
  template: string,
  values: Readonly<Record<string, string>>,
  masked: (text: string) => string,
): string {
  return template.replace(/\{\{(to|text|sender|id)\}\}/g, (_, name: string) => masked(values[name] ?? ""));
}

/** The text as it stands between the quotes of a JSON string. */
function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The values of a request: of its query, and of its body as JSON or as a form. */
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
