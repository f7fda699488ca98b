import { timingSafeEqual } from "node:crypto";
import {
  type ConfigOf,
  createOutbox,
  definePlugin,
  failForMissingConfig,
  type Outbox,
  type PluginContext,
  type PluginRequest,
  type PluginResponse,
  type TextMessage,
} from "#plugin-api";
import config from "./config.ts";
import { parseGatewayReceipt } from "./gateway-receipts.ts";
import { createHttpTransport, requestValues } from "./http-transport.ts";
import { createSmppTransport } from "./smpp-transport.ts";
import { composeSmsText, inboundReplyText, normalizePhoneNumber } from "./sms-texts.ts";
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
    const handleMessage = createInboundHandler(ctx, (to, text) => transport?.send(to, text, null));
    const transport = openTransport(ctx, {
      onMessage: handleMessage,
      onState: (state) => outbox?.reportResult(state),
    });
    if (!transport) return;
    outbox = createOutbox({
      ...ctx,
      concurrency: ctx.config.atOnce,
      undeliverableReason: ({ device }) =>
        normalizePhoneNumber(device.deviceIdentifier) === null
          ? "the device identifier must be a telephone number"
          : null,
      send: (item) =>
        transport.send(
          normalizePhoneNumber(item.device.deviceIdentifier) ?? "",
          composeSmsText(item, language),
          item.deliveryId,
        ),
    });
    const waiting = outbox;
    ctx.deliver(waiting.add);
    ctx.stop(({ deliveryIds }) => waiting.drop(deliveryIds));
    ctx.route("inbound", (request) => handleInbound(request, ctx, handleMessage));
    ctx.route("receipts", (request) => handleReceipt(request, ctx, transport));
    ctx.status(ctx.config.transport === "http" ? "ok" : "degraded", "connecting");
  },
});

/** Opens the configured transport; null if configuration is missing, which is reported. */
function openTransport(ctx: Context, callbacks: Pick<SmsTransportDeps, "onMessage" | "onState">): SmsTransport | null {
  const { transport, host, systemId, password, gatewayUrl } = ctx.config;
  const { gatewayBody: body, gatewayType: type, gatewayAuthorization: authorization } = ctx.config;
  const { clock, signal } = ctx;
  const onReceipt = (id: number, error: string | null): void => {
    if (error === null) ctx.outcome(id, "accepted", { afterwards: true });
    else ctx.outcome(id, "failed", { reason: error, retryable: false, returned: true });
  };
  if (transport === "http" && gatewayUrl) {
    const { sender, gatewayAnswerId: answerId, receiptState } = ctx.config;
    const gateway = { url: gatewayUrl, body, type, authorization, fetch: ctx.fetch, answerId };
    return createHttpTransport({ ...gateway, sender, clock, onReceipt, receipts: receiptState !== null });
  }
  if (transport === "smpp" && host && systemId) {
    return createSmppTransport({
      ...ctx.config,
      ...callbacks,
      clock,
      signal,
      onReceipt,
      host,
      systemId,
      password: password ?? "",
      onAmbiguousReceipt: (messageId) =>
        ctx.log.warn(
          { event: "sms.receipt_ambiguous", messageId },
          "receipt ignored: several messages have this id in hexadecimal or decimal form",
        ),
    });
  }
  const missing = transport === "http" ? "gatewayUrl must be set" : "host and systemId must be set";
  failForMissingConfig(ctx, missing);
  return null;
}

/**
 * Creates the handler of inbound messages, which sends the reply; it resolves with false if the message could not be
 * stored.
 */
function createInboundHandler(ctx: Context, send: (to: string, text: string) => unknown) {
  const repliedAt = new Map<string, number>();
  const mayReply = (number: string): boolean => {
    const now = ctx.clock.monotonicMs();
    if (now - (repliedAt.get(number) ?? Number.NEGATIVE_INFINITY) < UNKNOWN_REPLY_INTERVAL_MS) return false;
    if (repliedAt.size >= MAX_NUMBERS) repliedAt.clear();
    repliedAt.set(number, now);
    return true;
  };
  return async ({ from, text }: TextMessage): Promise<boolean> => {
    const number = normalizePhoneNumber(from);
    // Alphanumeric senders cannot be answered.
    if (number === null) return true;
    try {
      const reply = await ctx.receive({ from: number, text });
      const replyText =
        reply.kind === "unknown" && !mayReply(number) ? null : inboundReplyText(reply, ctx.config.language);
      if (replyText !== null) void send(number, replyText);
      return true;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      ctx.log.warn({ event: "sms.inbound_failed", err: message }, "failed to store inbound text message");
      return false;
    }
  };
}

/** Inbound message from a gateway: 204 when stored, 503 to be retried. */
async function handleInbound(
  request: PluginRequest,
  { config: { inboundToken, inboundFrom, inboundText } }: Context,
  handleMessage: (message: TextMessage) => Promise<boolean>,
): Promise<PluginResponse> {
  const values = requestValues(request);
  if (!isAllowed(request, values, inboundToken)) return { status: 401 };
  const from = values[inboundFrom];
  const text = values[inboundText];
  if (!from || text === undefined) return { status: 400, body: `${inboundFrom} and ${inboundText} must be given` };
  return { status: (await handleMessage({ from, text })) ? 204 : 503 };
}

/** Receipt from a gateway: 204, also for unknown messages. */
function handleReceipt(
  request: PluginRequest,
  { config }: Pick<Context, "config">,
  transport: Pick<SmsTransport, "handleReceipt">,
): PluginResponse {
  const { inboundToken, receiptId: id, receiptState: state, receiptArrived: arrived, receiptLost: lost } = config;
  const values = requestValues(request);
  if (!isAllowed(request, values, inboundToken)) return { status: 401 };
  const receipt = state === null ? null : parseGatewayReceipt(values, { id, state, arrived, lost });
  if (!receipt) return { status: 400, body: `${id} and ${state ?? "a state"} must be given` };
  transport.handleReceipt(receipt);
  return { status: 204 };
}

function isAllowed(request: PluginRequest, values: Readonly<Record<string, string>>, token: string | null): boolean {
  const bearer = /^Bearer (.+)$/i.exec(String(request.headers.authorization ?? ""))?.[1];
  return Boolean(token) && isSame(bearer ?? values.token ?? "", token ?? "");
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
