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

type Context = PluginContext<ConfigOf<typeof config>>;

const MIN_TOKEN_LENGTH = 16;

/** Alerts in feeds: one feed for each group, one document for each word about a message. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sender, access, feedToken } = ctx.config;
    if (sender === null || !isValidSender(sender))
      return failForMissingConfig(ctx, "sender is not set to a name without spaces");
    if (access === "token" && (feedToken ?? "").length < MIN_TOKEN_LENGTH)
      return failForMissingConfig(
        ctx,
        `the feeds are not public, and feedToken has less than ${MIN_TOKEN_LENGTH} characters`,
      );
    const signer = createSigner(ctx.config);
    if (typeof signer === "string") return failForMissingConfig(ctx, signer);
    const settings = { ...ctx.config, sender };
    const shelf = openAlertStore(ctx.state);
    const outbox = createOutbox({
      ...ctx,
      concurrency: 1,
      undeliverableReason: (item) => alertError(item, settings),
      send: (item) => publishAlert(item, shelf, settings),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    ctx.onEvent("notification.stopped", ({ notificationId, reason }) => {
      if (reason === "aborted") void cancelAlert(notificationId, shelf, ctx);
    });
    ctx.route("", (request) => handleFeedRequest(request, feedRequestDeps(ctx, shelf, signer)));
    ctx.status("ok");
  },
});

/** Nobody tells who has read a feed: what stands in it is sent, and that is the last that is known. */
async function publishAlert(
  item: DeliveryItem,
  shelf: AlertStore,
  settings: Parameters<typeof createAlert>[2],
): Promise<SendResult> {
  try {
    await shelf.add(item.device.id, (alerts) => {
      const earlier = alerts.find(({ notificationId }) => notificationId === item.follows) ?? null;
      return createAlert(item, earlier, settings);
    });
    return { taken: true, level: "sent", last: true };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { taken: false, reason: `the alert could not be kept: ${words}`, retryable: true, down: false };
  }
}

async function cancelAlert(notificationId: string, shelf: AlertStore, { clock, log }: Context): Promise<void> {
  try {
    await shelf.addFollowUp(notificationId, (about) =>
      about.msgType === "Cancel" ? null : createCancellation(about, clock.now()),
    );
  } catch (error) {
    log.error({ notificationId, err: String(error) }, "an alert could not be cancelled");
  }
}

function feedRequestDeps(ctx: Context, shelf: AlertStore, signer: AlertSigner | null): FeedRequestDeps {
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
    alertsOf: shelf.list,
    documentOf: (alert: PublishedAlert) => capDocument(alert, ctx.config, signer),
  };
}

/** Null for alerts that are not signed; words for a key and a certificate that do not belong together. */
function createSigner({ signingKey, certificate }: ConfigOf<typeof config>): AlertSigner | string | null {
  if (!signingKey && !certificate) return null;
  if (!signingKey || !certificate) return "signingKey and certificate are only given together";
  try {
    const key = createPrivateKey(signingKey);
    if (key.asymmetricKeyType !== "rsa") return "signingKey is no RSA key";
    if (!new X509Certificate(certificate).checkPrivateKey(key)) return "the certificate is not that of signingKey";
    return { key: signingKey, certificate };
  } catch {
    return "signingKey or certificate can't be read";
  }
}
