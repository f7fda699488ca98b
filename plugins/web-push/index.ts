import { randomBytes } from "node:crypto";
import webPush from "web-push";
import {
  type ConfigOf,
  createOutbox,
  definePlugin,
  failForMissingConfig,
  type Outbox,
  type PluginContext,
  type PluginRequest,
  type PluginResponse,
} from "#plugin-api";
import config from "./config.ts";
import { createWebPushClient, type VapidKeys } from "./push-client.ts";
import { createReceiptSigner, type ReceiptSigner } from "./receipt-signer.ts";
import { parseSubscription, type WebPushSubscription } from "./subscription.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Push services that are dealt with apart; there are a handful of makers of browsers. own choice */
const MAX_SERVICES = 50;
/** What was said so long ago of a service that nobody asks any more says nothing of the channel. own choice */
const ERROR_RETENTION_MS = 3_600_000;
const SWEEP_MS = 600_000;

/** Push messages: each encrypted for one browser and handed to the push service of its maker. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { contact } = ctx.config;
    const { keys, receipts } = await loadSecrets(ctx);
    ctx.route("key", () => jsonResponse(200, { publicKey: keys.publicKey }));
    ctx.route("receipt", (request) => handleReceipt(request, receipts, ctx));
    if (contact === null || !/^(mailto:.+@.+|https:\/\/.+)$/.test(contact)) {
      return failForMissingConfig(ctx, "contact is not set to a mailto: or https: address");
    }
    const receiptOf = receiptFactory(receipts);
    const outboxes = createOutboxes(ctx, createWebPushClient({ ...ctx, contact, keys, receiptOf }));
    ctx.deliver((batch) => {
      for (const item of batch) {
        const subscription = parseSubscription(item.device);
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
async function loadSecrets({ state }: Context): Promise<{ keys: VapidKeys; receipts: ReceiptSigner }> {
  const kept = (await state.get("keys")) as { vapid: VapidKeys; receipts: string } | undefined;
  const secrets = kept ?? { vapid: webPush.generateVAPIDKeys(), receipts: randomBytes(32).toString("base64url") };
  if (!kept) await state.set("keys", secrets);
  return { keys: secrets.vapid, receipts: createReceiptSigner(Buffer.from(secrets.receipts, "base64url")) };
}

function receiptFactory(receipts: ReceiptSigner) {
  return ({ deliveryId, recipient }: { deliveryId: number; recipient?: { id: string } }): string =>
    receipts.sign({ deliveryId, recipientId: recipient?.id ?? "00000000-0000-0000-0000-000000000000" });
}

/** One outbox for each push service, so that one that is not well holds up no other. */
function createOutboxes(ctx: Context, push: ReturnType<typeof createWebPushClient>) {
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
      concurrency: ctx.config.atOnce,
      undeliverableReason: () => null,
      send: (item) => push(item, parseSubscription(item.device) as WebPushSubscription),
    });
  ctx.every(SWEEP_MS, () => {
    const before = ctx.clock.monotonicMs() - ERROR_RETENTION_MS;
    for (const [origin, { at }] of [...faults]) if (at < before) hear(origin, undefined);
  });
  return {
    of({ endpoint }: WebPushSubscription): Outbox {
      const { origin } = new URL(endpoint);
      const [broken] = faults.keys();
      // What anybody may register must not fill the memory, nor take the place of a service that is well.
      if (!outboxes.has(origin) && outboxes.size >= MAX_SERVICES && broken !== undefined) {
        outboxes.delete(broken);
        hear(broken, undefined);
      }
      const key = outboxes.has(origin) || outboxes.size < MAX_SERVICES ? origin : "others";
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
async function handleReceipt(
  { method, body }: PluginRequest,
  receipts: ReceiptSigner,
  ctx: Context,
): Promise<PluginResponse> {
  if (method !== "POST") return { status: 405, headers: { allow: "POST" } };
  const { receipt, option } = parseJsonBody(body);
  const received = receipts.verify(receipt);
  if (!received) return { status: 404 };
  if (typeof option !== "string") {
    ctx.outcome(received.deliveryId, "playing", { afterwards: true });
    return { status: 204 };
  }
  try {
    const reply = await ctx.confirm(received.recipientId, option);
    ctx.outcome(received.deliveryId, "confirmed", { afterwards: true });
    return jsonResponse(200, { reply });
  } catch (error) {
    return jsonResponse(409, { message: error instanceof Error ? error.message : String(error) });
  }
}

function parseJsonBody(body: Uint8Array): { receipt?: unknown; option?: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function jsonResponse(status: number, value: object): PluginResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}
