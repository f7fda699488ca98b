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
import { sentence } from "./sentences.ts";
import { parseSubscription, type WebPushSubscription } from "./subscription.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Push services with a queue of their own; there are only a few browser vendors. */
const MAX_SERVICES = 50;
/** An error of a push service is forgotten after this time without traffic. */
const ERROR_RETENTION_MS = 3_600_000;
const SWEEP_MS = 600_000;

/** Push messages to browsers, encrypted and sent through the push service of the browser's vendor. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { contact } = ctx.config;
    const { keys, receipts } = await loadSecrets(ctx);
    ctx.route("key", () => jsonResponse(200, { publicKey: keys.publicKey }));
    ctx.route("receipt", (request) => handleReceipt(request, receipts, ctx));
    if (contact === null || !/^(mailto:.+@.+|https:\/\/.+)$/.test(contact)) {
      return failForMissingConfig(ctx, sentence("contact-invalid"));
    }
    const receiptOf = receiptFactory(receipts);
    const outboxes = createOutboxes(ctx, createWebPushClient({ ...ctx, contact, keys, receiptOf }));
    ctx.deliver((batch) => {
      for (const item of batch) {
        const subscription = parseSubscription(item.device);
        if (subscription) outboxes.of(subscription).add([item]);
        else {
          const reason = sentence("identifier-invalid");
          ctx.outcome(item.deliveryId, "failed", { reason, retryable: false });
        }
      }
    });
    ctx.stop(({ deliveryIds }) => outboxes.drop(deliveryIds));
    ctx.status("ok");
  },
});

/** Created once: browsers keep the public key, and messages in transit keep their receipts. */
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

/** One outbox per push service, so that an unavailable service does not delay others. */
function createOutboxes(ctx: Context, push: ReturnType<typeof createWebPushClient>) {
  const outboxes = new Map<string, Outbox>();
  const errors = new Map<string, { reason: string; at: number }>();
  const updateHealth = (origin: string, reason: string | undefined): void => {
    if (reason === undefined) errors.delete(origin);
    else if (outboxes.has(origin)) errors.set(origin, { reason, at: ctx.clock.monotonicMs() });
    const message = [...errors].map(([service, error]) => `${service}: ${error.reason}`).join("; ");
    if (errors.size === 0) ctx.status("ok");
    else ctx.status(errors.size === outboxes.size ? "down" : "degraded", message);
  };
  const open = (origin: string): Outbox =>
    createOutbox({
      ...ctx,
      status: (_state, reason) => updateHealth(origin, reason),
      concurrency: ctx.config.atOnce,
      undeliverableReason: () => null,
      send: (item) => push(item, parseSubscription(item.device) as WebPushSubscription),
    });
  ctx.every(SWEEP_MS, () => {
    const before = ctx.clock.monotonicMs() - ERROR_RETENTION_MS;
    for (const [origin, { at }] of [...errors]) if (at < before) updateHealth(origin, undefined);
  });
  return {
    of({ endpoint }: WebPushSubscription): Outbox {
      const { origin } = new URL(endpoint);
      const [broken] = errors.keys();
      // Subscriptions are user input: they must not exhaust memory, nor displace a working service.
      if (!outboxes.has(origin) && outboxes.size >= MAX_SERVICES && broken !== undefined) {
        outboxes.delete(broken);
        updateHealth(broken, undefined);
      }
      const key = outboxes.has(origin) || outboxes.size < MAX_SERVICES ? origin : "others";
      const outbox = outboxes.get(key) ?? open(key);
      outboxes.set(key, outbox);
      return outbox;
    },
    drop(deliveryIds: readonly number[]): void {
      for (const outbox of outboxes.values()) outbox.drop(deliveryIds);
    },
  };
}

/** Display receipt or response from the service worker: `{receipt, option?}`. */
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
