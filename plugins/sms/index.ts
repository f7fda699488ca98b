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

/** A number that says what nobody knows is answered once in so long: two machines must not talk to each other. own choice */
const UNKNOWN_REPLY_INTERVAL_MS = 3_600_000;
const MAX_NUMBERS = 10_000;

/** Text messages: out to each number, answers and STOP back in. */
export default definePlugin({
  config,
  activate(ctx) {
    const { language } = ctx.config;
    let outbox: Outbox | null = null;
    const answer = createInboundHandler(ctx, (to, text) => carrier?.send(to, text, null));
    const carrier = openTransport(ctx, {
      onMessage: answer,
      onState: (state) => outbox?.reportResult(state),
    });
    if (!carrier) return;
    outbox = createOutbox({
      ...ctx,
      concurrency: ctx.config.atOnce,
      undeliverableReason: ({ device }) =>
        normalizePhoneNumber(device.deviceIdentifier) === null ? "it is not a telephone number" : null,
      send: (item) =>
        carrier.send(
          normalizePhoneNumber(item.device.deviceIdentifier) ?? "",
          composeSmsText(item, language),
          item.deliveryId,
        ),
    });
    const waiting = outbox;
    ctx.deliver(waiting.add);
    ctx.stop(({ deliveryIds }) => waiting.drop(deliveryIds));
    ctx.route("inbound", (request) => handleInbound(request, ctx, answer));
    ctx.route("receipts", (request) => handleReceipt(request, ctx, carrier));
    ctx.status(ctx.config.transport === "http" ? "ok" : "degraded", "connecting");
  },
});

/** The way out that is set; null, in words, when something is missing. */
function openTransport(ctx: Context, heard: Pick<SmsTransportDeps, "onMessage" | "onState">): SmsTransport | null {
  const { transport, host, systemId, password, gatewayUrl } = ctx.config;
  const { gatewayBody: body, gatewayType: type, gatewayAuthorization: authorization } = ctx.config;
  const { clock, signal } = ctx;
  const onReceipt = (id: number, fault: string | null): void => {
    if (fault === null) ctx.outcome(id, "accepted", { afterwards: true });
    else ctx.outcome(id, "failed", { reason: fault, retryable: false, returned: true });
  };
  if (transport === "http" && gatewayUrl) {
    const { sender, gatewayAnswerId: answerId, receiptState } = ctx.config;
    const gateway = { url: gatewayUrl, body, type, authorization, fetch: ctx.fetch, answerId };
    return createHttpTransport({ ...gateway, sender, clock, onReceipt, receipts: receiptState !== null });
  }
  if (transport === "smpp" && host && systemId) {
    return createSmppTransport({
      ...ctx.config,
      ...heard,
      clock,
      signal,
      onReceipt,
      host,
      systemId,
      password: password ?? "",
    });
  }
  const missing = transport === "http" ? "gatewayUrl is not set" : "host and systemId are not set";
  failForMissingConfig(ctx, missing);
  return null;
}

/** Hands what people write to the appliance, and tells them what came of it; gives false where it could not be stored. */
function createInboundHandler(ctx: Context, send: (to: string, text: string) => unknown) {
  const told = new Map<string, number>();
  const mayTell = (number: string): boolean => {
    const now = ctx.clock.monotonicMs();
    if (now - (told.get(number) ?? Number.NEGATIVE_INFINITY) < UNKNOWN_REPLY_INTERVAL_MS) return false;
    if (told.size >= MAX_NUMBERS) told.clear();
    told.set(number, now);
    return true;
  };
  return async ({ from, text }: TextMessage): Promise<boolean> => {
    const number = normalizePhoneNumber(from);
    // Names and short words of machines can't be answered.
    if (number === null) return true;
    try {
      const reply = await ctx.receive({ from: number, text });
      const words = reply.kind === "unknown" && !mayTell(number) ? null : inboundReplyText(reply, ctx.config.language);
      if (words !== null) void send(number, words);
      return true;
    } catch (error) {
      ctx.log.warn({ err: error instanceof Error ? error.message : String(error) }, "a text message was not taken");
      return false;
    }
  };
}

/** An answer that a gateway brings: 204 once it was taken, 503 to bring it again. */
async function handleInbound(
  request: PluginRequest,
  { config: { inboundToken, inboundFrom, inboundText } }: Context,
  answer: (message: TextMessage) => Promise<boolean>,
): Promise<PluginResponse> {
  const values = requestValues(request);
  if (!isAllowed(request, values, inboundToken)) return { status: 401 };
  const from = values[inboundFrom];
  const text = values[inboundText];
  if (!from || text === undefined) return { status: 400, body: `${inboundFrom} and ${inboundText} are expected` };
  return { status: (await answer({ from, text })) ? 204 : 503 };
}

/** A receipt that a gateway brings: 204, also for what nobody waits for. */
function handleReceipt(
  request: PluginRequest,
  { config }: Pick<Context, "config">,
  carrier: Pick<SmsTransport, "handleReceipt">,
): PluginResponse {
  const { inboundToken, receiptId: id, receiptState: state, receiptArrived: arrived, receiptLost: lost } = config;
  const values = requestValues(request);
  if (!isAllowed(request, values, inboundToken)) return { status: 401 };
  const receipt = state === null ? null : parseGatewayReceipt(values, { id, state, arrived, lost });
  if (!receipt) return { status: 400, body: `${id} and ${state ?? "a state"} are expected` };
  carrier.handleReceipt(receipt);
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
