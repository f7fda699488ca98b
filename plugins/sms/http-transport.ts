import smpp from "smpp";
import type { PluginContext, SendResult } from "#plugin-api";
import { createReceiptTracker, receiptFailure } from "./delivery-receipts.ts";
import { judgeResponse } from "./gateway-responses.ts";
import { valuesAtFirst } from "./gateway-values.ts";
import type { GatewayRequest, ProviderForm } from "./providers/provider-form.ts";
import { sentence } from "./sentences.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

/** Settings of an HTTP gateway. */
export interface HttpTransportDeps extends Pick<SmsTransportDeps, "sender" | "clock" | "onReceipt"> {
  form: ProviderForm & { url: string };
  user: string | null;
  password: string | null;
  /** Further secrets, which never appear in a reason. */
  secrets: readonly (string | null)[];
  fetch: PluginContext["fetch"];
  /** URL for receipts of a delivery; empty if the gateway sends none. */
  receiptUrl(id: number): string;
  onAmbiguousReceipt(id: string): void;
}

const RESPONSE_TIMEOUT_MS = 20_000;
const MIN_SECRET_LENGTH = 4;

/** Sends each message by one request; the success rule of the form decides whether it was accepted. */
export function createHttpTransport(deps: HttpTransportDeps): SmsTransport {
  const { form, sender, fetch } = deps;
  const receipts = createReceiptTracker(deps.clock, deps.onReceipt, deps.onAmbiguousReceipt);
  const secrets = [deps.password, ...deps.secrets].filter((each) => (each?.length ?? 0) >= MIN_SECRET_LENGTH);
  const withoutSecrets = (text: string): string =>
    secrets.reduce<string>((rest, each) => rest.replaceAll(each ?? "", "…"), text);
  return {
    async send(to, text, id) {
      const receiptUrl = id === null ? "" : deps.receiptUrl(id);
      const message = {
        ...{ url: form.url, to, text, sender: sender ?? "", id: String(id ?? ""), receiptUrl },
        ...{ user: deps.user ?? "", password: deps.password ?? "", isUnicode: !smpp.encodings.ASCII.match(text) },
      };
      try {
        const { url, ...options } = toFetch(form.request(message));
        const response = await fetch(url, { ...options, timeoutMs: RESPONSE_TIMEOUT_MS });
        const verdict = judgeResponse(response, form.success, deps.clock.now());
        if (!verdict.accepted) return maskedResult(verdict.result, withoutSecrets);
        if (form.receipt === null || id === null || receiptUrl === "") return { taken: true, level: "accepted" };
        if (form.messageId === null && verdict.captured === null) return { taken: true, level: "sent" };
        const found = form.messageId === null ? [] : valuesAtFirst(verdict.body.value, form.messageId);
        const names = found.length > 0 ? found : verdict.captured ? [verdict.captured] : [];
        if (names.length === 0) return { taken: true, level: "accepted" };
        receipts.expect(id, names, to);
        return { taken: true, level: "sent" };
      } catch (error) {
        const message = withoutSecrets(error instanceof Error ? error.message : String(error));
        return { taken: false, reason: sentence("request-failed", { error: message }), retryable: true, down: true };
      }
    },
    handleReceipt(receipt, delivery) {
      // Receipts that refer to the delivery need no tracking, so they count after a restart as well.
      if (delivery === null) receipts.handle(receipt);
      else if (receipt.arrived !== null) deps.onReceipt(delivery, receiptFailure(receipt));
    },
  };
}

function toFetch({ url, method, headers = {}, json, form, query, body }: GatewayRequest): {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
} {
  const content = json
    ? { type: "application/json", text: JSON.stringify(json) }
    : form
      ? { type: "application/x-www-form-urlencoded", text: new URLSearchParams(form).toString() }
      : body;
  const target = query ? `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(query)}` : url;
  if (!content) return { url: target, method, headers };
  return { url: target, method, headers: { ...headers, "content-type": content.type }, body: content.text };
}

function maskedResult(result: SendResult, mask: (text: string) => string): SendResult {
  return result.taken ? result : { ...result, reason: mask(result.reason) };
}
