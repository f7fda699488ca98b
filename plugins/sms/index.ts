import { timingSafeEqual } from "node:crypto";
import {
  type ConfigOf,
  createOutbox,
  definePlugin,
  lacking,
  type Outbox,
  type PluginContext,
  type PluginRequest,
  type PluginResponse,
  type TextMessage,
} from "#plugin-api";
import type { Carrier, CarrierNeeds } from "./carrier.ts";
import config from "./config.ts";
import { receiptIn } from "./gateway-receipts.ts";
import { createHttpCarrier, valuesOf } from "./http-carrier.ts";
import { numberOf, replyTo, wordsOf } from "./message.ts";
import { createSmppCarrier } from "./smpp-carrier.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** A number that says what nobody knows is answered once in so long: two machines must not talk to each other. own choice */
const SILENT_MS = 3_600_000;
const MOST_NUMBERS = 10_000;

/** Text messages: out to each number, answers and STOP back in. */
export default definePlugin({
  config,
  activate(ctx) {
    const { language } = ctx.config;
    let outbox: Outbox | null = null;
    const answer = createAnswering(ctx, (to, text) => carrier?.send(to, text, null));
    const carrier = openCarrier(ctx, {
      onMessage: answer,
      onState: (state) => outbox?.heard(state),
    });
    if (!carrier) return;
    outbox = createOutbox({
      ...ctx,
      atOnce: ctx.config.atOnce,
      fault: ({ device }) => (numberOf(device.deviceIdentifier) === null ? "it is not a telephone number" : null),
      hand: (item) =>
        carrier.send(numberOf(item.device.deviceIdentifier) ?? "", wordsOf(item, language), item.deliveryId),
    });
    const waiting = outbox;
    ctx.deliver(waiting.add);
    ctx.stop(({ deliveryIds }) => waiting.drop(deliveryIds));
    ctx.route("inbound", (request) => takeInbound(request, ctx, answer));
    ctx.route("receipts", (request) => takeReceipt(request, ctx, carrier));
    ctx.status(ctx.config.transport === "http" ? "ok" : "degraded", "connecting");
  },
});

/** The way out that is set; null, in words, when something is missing. */
function openCarrier(ctx: Context, heard: Pick<CarrierNeeds, "onMessage" | "onState">): Carrier | null {
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
    return createHttpCarrier({ ...gateway, sender, clock, onReceipt, receipts: receiptState !== null });
  }
  if (transport === "smpp" && host && systemId) {
    return createSmppCarrier({
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
  lacking(ctx, missing);
  return null;
}

/** Hands what people write to the appliance, and tells them what came of it; gives false where it could not be stored. */
function createAnswering(ctx: Context, send: (to: string, text: string) => unknown) {
  const told = new Map<string, number>();
  const mayTell = (number: string): boolean => {
    const now = ctx.clock.monotonicMs();
    if (now - (told.get(number) ?? Number.NEGATIVE_INFINITY) < SILENT_MS) return false;
    if (told.size >= MOST_NUMBERS) told.clear();
    told.set(number, now);
    return true;
  };
  return async ({ from, text }: TextMessage): Promise<boolean> => {
    const number = numberOf(from);
    // Names and short words of machines can't be answered.
    if (number === null) return true;
    try {
      const reply = await ctx.receive({ from: number, text });
      const words = reply.kind === "unknown" && !mayTell(number) ? null : replyTo(reply, ctx.config.language);
      if (words !== null) void send(number, words);
      return true;
    } catch (error) {
      ctx.log.warn({ err: error instanceof Error ? error.message : String(error) }, "a text message was not taken");
      return false;
    }
  };
}

/** An answer that a gateway brings: 204 once it was taken, 503 to bring it again. */
async function takeInbound(
  request: PluginRequest,
  { config: { inboundToken, inboundFrom, inboundText } }: Context,
  answer: (message: TextMessage) => Promise<boolean>,
): Promise<PluginResponse> {
  const values = valuesOf(request);
  if (!isAllowed(request, values, inboundToken)) return { status: 401 };
  const from = values[inboundFrom];
  const text = values[inboundText];
  if (!from || text === undefined) return { status: 400, body: `${inboundFrom} and ${inboundText} are expected` };
  return { status: (await answer({ from, text })) ? 204 : 503 };
}

/** A receipt that a gateway brings: 204, also for what nobody waits for. */
function takeReceipt(
  request: PluginRequest,
  { config }: Pick<Context, "config">,
  carrier: Pick<Carrier, "receive">,
): PluginResponse {
  const { inboundToken, receiptId: id, receiptState: state, receiptArrived: arrived, receiptLost: lost } = config;
  const values = valuesOf(request);
  if (!isAllowed(request, values, inboundToken)) return { status: 401 };
  const receipt = state === null ? null : receiptIn(values, { id, state, arrived, lost });
  if (!receipt) return { status: 400, body: `${id} and ${state ?? "a state"} are expected` };
  carrier.receive(receipt);
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
