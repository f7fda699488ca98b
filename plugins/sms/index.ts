import {
  type ConfigOf,
  createOutbox,
  definePlugin,
  failForMissingConfig,
  type Outbox,
  type PluginContext,
  type TextMessage,
} from "#plugin-api";
import config from "./config.ts";
import type { DeliveryReceipt } from "./delivery-receipts.ts";
import { createGatewayCallbacks, DELIVERY_PARAMETER } from "./gateway-callbacks.ts";
import { gatewayForm } from "./gateway-form.ts";
import { invalidPattern } from "./gateway-responses.ts";
import { createHttpTransport } from "./http-transport.ts";
import { createRecipientNumbers, type RecipientNumbers } from "./recipient-numbers.ts";
import { sentence } from "./sentences.ts";
import { createSmppTransport } from "./smpp-transport.ts";
import { composeSmsText, inboundReplyText } from "./sms-texts.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/**
 * Unknown texts of a number are answered at most this often, so that two machines do not answer each other endlessly.
 */
const UNKNOWN_REPLY_INTERVAL_MS = 3_600_000;
const MAX_NUMBERS = 10_000;

/** Text messages to numbers, and inbound responses and keywords. */
export default definePlugin({
  config,
  activate(ctx) {
    const { language } = ctx.config;
    let outbox: Outbox | null = null;
    const { allowedPrefixes = null, premiumNumbers = false } = ctx.config;
    const country = ctx.config.country || ctx.country;
    const numbers = createRecipientNumbers({ country, allowedPrefixes, premiumNumbers });
    const handleMessage = createInboundHandler(ctx, numbers, (to, text) => transport?.send(to, text, null));
    const transport = openTransport(ctx, {
      onMessage: handleMessage,
      onState: (state) => outbox?.reportResult(state),
    });
    if (!transport) return;
    outbox = createOutbox({
      ...ctx,
      concurrency: ctx.config.atOnce,
      undeliverableReason({ device }) {
        const recipient = numbers.recipientOf(device.deviceIdentifier);
        return "reason" in recipient ? recipient.reason : null;
      },
      async send(item) {
        const recipient = numbers.recipientOf(item.device.deviceIdentifier);
        if ("reason" in recipient) return { taken: false, ...recipient, retryable: false, down: false };
        return transport.send(recipient.number, composeSmsText(item, language), item.deliveryId);
      },
    });
    const waiting = outbox;
    ctx.deliver(waiting.add);
    ctx.accountMessage(async ({ to, text }) => {
      const recipient = numbers.recipientOf(to);
      if ("reason" in recipient) return recipient.reason;
      const result = await transport.send(recipient.number, text, null);
      return result.taken ? null : result.reason;
    });
    ctx.stop(({ deliveryIds }) => waiting.drop(deliveryIds));
    serveCallbacks(ctx, handleMessage, transport);
    ctx.status(ctx.config.transport === "http" ? "ok" : "degraded", sentence("connecting"));
  },
});

/** Opens the configured transport; null if configuration is missing, which is reported. */
function openTransport(ctx: Context, callbacks: Pick<SmsTransportDeps, "onMessage" | "onState">): SmsTransport | null {
  const { transport, sender, host, systemId, password } = ctx.config;
  const { clock, signal } = ctx;
  const events = {
    onReceipt(id: number, error: string | null): void {
      if (error === null) ctx.outcome(id, "accepted", { afterwards: true });
      else ctx.outcome(id, "failed", { reason: error, retryable: false, returned: true });
    },
    onAmbiguousReceipt(messageId: string): void {
      ctx.log.warn(
        { event: "sms.receipt_ambiguous", messageId },
        "receipt ignored: several messages have this id in hexadecimal or decimal form",
      );
    },
  };
  if (transport === "smpp") {
    if (host && systemId) {
      const account = { host, systemId, password: password ?? "" };
      return createSmppTransport({ ...ctx.config, ...callbacks, ...events, clock, signal, ...account });
    }
    failForMissingConfig(ctx, sentence("account-missing"));
    return null;
  }
  const form = gatewayForm(ctx.config);
  const pattern = typeof form === "string" ? null : invalidPattern(form.success);
  if (typeof form === "string" || pattern !== null) {
    failForMissingConfig(
      ctx,
      typeof form === "string" ? form : sentence("pattern-invalid", { problem: pattern ?? "" }),
    );
    return null;
  }
  const { gatewayUser: user, gatewayPassword, gatewayAuthorization, gatewayHeader, inboundToken } = ctx.config;
  return createHttpTransport({
    ...events,
    ...{ clock, sender, form, user, password: gatewayPassword, fetch: ctx.fetch },
    secrets: [gatewayAuthorization, gatewayHeader, inboundToken],
    receiptUrl: (id) => receiptUrlOf(ctx, id),
  });
}

/** URL for receipts of a delivery; empty if neither a token nor a signature would protect it. */
function receiptUrlOf({ config: { inboundToken, signatureSecret }, baseUrl }: Context, id: number): string {
  if (!inboundToken && !signatureSecret) return "";
  const token = inboundToken && !signatureSecret ? `token=${encodeURIComponent(inboundToken)}&` : "";
  return `${baseUrl}/x/sms/receipts?${token}${DELIVERY_PARAMETER}=${id}`;
}

/** Serves inbound messages and receipts of the gateway. */
function serveCallbacks(
  ctx: Context,
  onMessage: (message: TextMessage) => Promise<boolean>,
  transport: SmsTransport,
): void {
  const form = gatewayForm({ ...ctx.config, gatewayUrl: ctx.config.gatewayUrl ?? "http://localhost/" });
  if (typeof form === "string") return;
  const { inboundToken: token, signatureSecret } = ctx.config;
  const callbacks = createGatewayCallbacks({
    ...{ form, token, signatureSecret, onMessage, baseUrl: `${ctx.baseUrl}/x/sms`, now: ctx.clock.now },
    onReceipt: (receipt, delivery) => transport.handleReceipt(receipt, delivery ?? deliveryIn(receipt, form)),
  });
  ctx.route("inbound", callbacks.inbound);
  ctx.route("receipts", callbacks.receipts);
}

/** A gateway without ids in its responses refers to the delivery. */
function deliveryIn({ name }: DeliveryReceipt, { messageId }: { messageId: string | null }): number | null {
  return messageId === null && /^\d{1,15}$/.test(name) ? Number(name) : null;
}

/**
 * Creates the handler of inbound messages, which sends the reply; it resolves with false if the message could not be
 * stored.
 */
function createInboundHandler(ctx: Context, numbers: RecipientNumbers, send: (to: string, text: string) => unknown) {
  const repliedAt = new Map<string, number>();
  const mayReply = (number: string): boolean => {
    const now = ctx.clock.monotonicMs();
    if (now - (repliedAt.get(number) ?? Number.NEGATIVE_INFINITY) < UNKNOWN_REPLY_INTERVAL_MS) return false;
    if (repliedAt.size >= MAX_NUMBERS) repliedAt.clear();
    repliedAt.set(number, now);
    return true;
  };
  return async ({ from, text }: TextMessage): Promise<boolean> => {
    const number = numbers.senderOf(from);
    if (number === null) return true;
    try {
      const reply = await ctx.receive({ from: number, text });
      const replyText =
        (reply.kind === "unknown" || reply.kind === "help") && !mayReply(number)
          ? null
          : inboundReplyText(reply, ctx.config.language);
      if (replyText !== null && "number" in numbers.recipientOf(number)) void send(number, replyText);
      return true;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      ctx.log.warn({ event: "sms.inbound_failed", err: message }, "failed to store inbound text message");
      return false;
    }
  };
}
