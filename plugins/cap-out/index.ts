import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  type ConfigOf,
  createOutbox,
  type DeliveryItem,
  definePlugin,
  failForMissingConfig,
  type PluginContext,
  type SendResult,
} from "#plugin-api";
import { alertError, createAlert, createCancellation, isValidSender, type PublishedAlert } from "./alert.ts";
import { type AlertStore, openAlertStore } from "./alert-store.ts";
import { type AlertSigner, capDocument } from "./cap-document.ts";
import config from "./config.ts";
import { type FeedRequestDeps, handleFeedRequest } from "./feed-request.ts";
import { sentence } from "./sentences.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const MIN_TOKEN_LENGTH = 16;

/** Publishes alerts in feeds: one feed per group, one document per alert, update or cancellation. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sender, access, feedToken } = ctx.config;
    if (sender === null || !isValidSender(sender)) return failForMissingConfig(ctx, sentence("sender-missing"));
    if (access === "token" && (feedToken ?? "").length < MIN_TOKEN_LENGTH)
      return failForMissingConfig(ctx, sentence("token-short", { length: MIN_TOKEN_LENGTH }));
    const signer = createSigner(ctx.config);
    if (typeof signer === "string") return failForMissingConfig(ctx, signer);
    const settings = { ...ctx.config, sender };
    const store = openAlertStore(ctx.state);
    const outbox = createOutbox({
      ...ctx,
      concurrency: 1,
      undeliverableReason: (item) => alertError(item, settings),
      send: (item) => publishAlert(item, store, settings),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    ctx.onEvent("notification.stopped", ({ notificationId, reason }) => {
      if (reason === "aborted") void cancelAlert(notificationId, store, ctx);
    });
    ctx.route("", (request) => handleFeedRequest(request, feedRequestDeps(ctx, store, signer)));
    ctx.status("ok");
  },
});

/** Publishing proves `sent` and nothing more: feeds have no read receipts. */
async function publishAlert(
  item: DeliveryItem,
  store: AlertStore,
  settings: Parameters<typeof createAlert>[2],
): Promise<SendResult> {
  try {
    await store.add(item.device.id, (alerts) => {
      const earlier = alerts.find(({ notificationId }) => notificationId === item.follows) ?? null;
      return createAlert(item, earlier, settings);
    });
    return { taken: true, level: "sent", last: true };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { taken: false, reason: sentence("store-failed", { error: message }), retryable: true, down: false };
  }
}

async function cancelAlert(notificationId: string, store: AlertStore, { clock, log }: Context): Promise<void> {
  try {
    await store.addFollowUp(notificationId, (about) =>
      about.msgType === "Cancel" ? null : createCancellation(about, clock.now()),
    );
  } catch (error) {
    log.error({ event: "cap.cancel_failed", notificationId, err: String(error) }, "failed to cancel alert");
  }
}

function feedRequestDeps(ctx: Context, store: AlertStore, signer: AlertSigner | null): FeedRequestDeps {
  const { access, feedToken, senderName, sender } = ctx.config;
  return {
    token: access === "public" ? null : feedToken,
    baseUrl: `${ctx.baseUrl}/x/cap-out`,
    author: senderName ?? sender ?? "",
    async titleOf(groupId) {
      const groups = await ctx.resources.list("collaboration-groups");
      const group = groups.find(({ id, type }) => id === groupId && type === "outbound-cap");
      return group ? String(group.name) : null;
    },
    alertsOf: store.list,
    documentOf: (alert: PublishedAlert) => capDocument(alert, ctx.config, signer),
  };
}

/** The signer; null for unsigned alerts; an error message if key and certificate are invalid or do not match. */
function createSigner({ signingKey, certificate }: ConfigOf<typeof config>): AlertSigner | string | null {
  if (!signingKey && !certificate) return null;
  if (!signingKey || !certificate) return sentence("key-pair");
  try {
    const key = createPrivateKey(signingKey);
    if (key.asymmetricKeyType !== "rsa") return sentence("key-rsa");
    if (!new X509Certificate(certificate).checkPrivateKey(key)) return sentence("key-other");
    return { key: signingKey, certificate };
  } catch {
    return sentence("key-invalid");
  }
}
