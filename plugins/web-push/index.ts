import { randomBytes } from "node:crypto";
import webPush from "web-push";
import {
  type ConfigOf,
  createOutbox,
  definePlugin,
  lacking,
  type Outbox,
  type PluginContext,
  type PluginRequest,
  type PluginResponse,
} from "#plugin-api";
import config from "./config.ts";
import { createPush, type VapidKeys } from "./push-services.ts";
import { createReceipts, type Receipts } from "./receipts.ts";
import { type Subscription, subscriptionOf } from "./subscription.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Push services that are dealt with apart; there are a handful of makers of browsers. own choice */
const MOST_SERVICES = 50;
/** What was said so long ago of a service that nobody asks any more says nothing of the channel. own choice */
const FAULT_MS = 3_600_000;
const LOOK_MS = 600_000;

/** Push messages: each encrypted for one browser and handed to the push service of its maker. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { contact } = ctx.config;
    const { keys, receipts } = await secretsOf(ctx);
    ctx.route("key", () => jsonOf(200, { publicKey: keys.publicKey }));
    ctx.route("receipt", (request) => takeReceipt(request, receipts, ctx));
    if (contact === null || !/^(mailto:.+@.+|https:\/\/.+)$/.test(contact)) {
      return lacking(ctx, "contact is not set to a mailto: or https: address");
    }
    const receiptOf = receipting(receipts);
    const outboxes = createOutboxes(ctx, createPush({ ...ctx, contact, keys, receiptOf }));
    ctx.deliver((batch) => {
      for (const item of batch) {
        const subscription = subscriptionOf(item.device);
        if (subscription) outboxes.of(subscription).add([item]);
        else {
          const reason = "it is no subscription of a browser: the page registers itself";
          ctx.outcome(item.deliveryId, "failed", { reason, retryable: false });
        }
      }
    });
    ctx.stop(({ deliveryIds }) => outboxes.drop(deliveryIds));
    ctx.status("ok");
  },
});

/** Made once: browsers hold on to the public key, and receipts of messages under way to theirs. */
async function secretsOf({ state }: Context): Promise<{ keys: VapidKeys; receipts: Receipts }> {
  const kept = (await state.get("keys")) as { vapid: VapidKeys; receipts: string } | undefined;
  const secrets = kept ?? { vapid: webPush.generateVAPIDKeys(), receipts: randomBytes(32).toString("base64url") };
  if (!kept) await state.set("keys", secrets);
  return { keys: secrets.vapid, receipts: createReceipts(Buffer.from(secrets.receipts, "base64url")) };
}

function receipting(receipts: Receipts) {
  return ({ deliveryId, recipient }: { deliveryId: number; recipient?: { id: string } }): string =>
    receipts.sign({ deliveryId, recipientId: recipient?.id ?? "00000000-0000-0000-0000-000000000000" });
}

/** One outbox for each push service, so that one that is not well holds up no other. */
function createOutboxes(ctx: Context, push: ReturnType<typeof createPush>) {
  const outboxes = new Map<string, Outbox>();
  const faults = new Map<string, { reason: string; at: number }>();
  const hear = (origin: string, reason: string | undefined): void => {
    if (reason === undefined) faults.delete(origin);
    else if (outboxes.has(origin)) faults.set(origin, { reason, at: ctx.clock.monotonicMs() });
    const words = [...faults].map(([where, fault]) => `${where}: ${fault.reason}`).join("; ");
    if (faults.size === 0) ctx.status("ok");
    else ctx.status(faults.size === outboxes.size ? "down" : "degraded", words);
  };
  const make = (origin: string): Outbox =>
    createOutbox({
      ...ctx,
      status: (_state, reason) => hear(origin, reason),
      atOnce: ctx.config.atOnce,
      fault: () => null,
      hand: (item) => push(item, subscriptionOf(item.device) as Subscription),
    });
  ctx.every(LOOK_MS, () => {
    const before = ctx.clock.monotonicMs() - FAULT_MS;
    for (const [origin, { at }] of [...faults]) if (at < before) hear(origin, undefined);
  });
  return {
    of({ endpoint }: Subscription): Outbox {
      const { origin } = new URL(endpoint);
      const [broken] = faults.keys();
      // What anybody may register must not fill the memory, nor take the place of a service that is well.
      if (!outboxes.has(origin) && outboxes.size >= MOST_SERVICES && broken !== undefined) {
        outboxes.delete(broken);
        hear(broken, undefined);
      }
      const key = outboxes.has(origin) || outboxes.size < MOST_SERVICES ? origin : "others";
      const outbox = outboxes.get(key) ?? make(key);
      outboxes.set(key, outbox);
      return outbox;
    },
    drop(deliveryIds: readonly number[]): void {
      for (const outbox of outboxes.values()) outbox.drop(deliveryIds);
    },
  };
}

/** The service worker tells that it has shown a message, or what was pressed: `{receipt, option?}`. */
async function takeReceipt({ method, body }: PluginRequest, receipts: Receipts, ctx: Context): Promise<PluginResponse> {
  if (method !== "POST") return { status: 405, headers: { allow: "POST" } };
  const { receipt, option } = membersOf(body);
  const received = receipts.read(receipt);
  if (!received) return { status: 404 };
  if (typeof option !== "string") {
    ctx.outcome(received.deliveryId, "playing", { afterwards: true });
    return { status: 204 };
  }
  try {
    const reply = await ctx.confirm(received.recipientId, option);
    ctx.outcome(received.deliveryId, "confirmed", { afterwards: true });
    return jsonOf(200, { reply });
  } catch (error) {
    return jsonOf(409, { message: error instanceof Error ? error.message : String(error) });
  }
}

function membersOf(body: Uint8Array): { receipt?: unknown; option?: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function jsonOf(status: number, value: object): PluginResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}
