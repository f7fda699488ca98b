import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  type ConfigOf,
  createOutbox,
  type DeliveryItem,
  definePlugin,
  type Handed,
  lacking,
  type PluginContext,
} from "#plugin-api";
import { type Alert, alertOf, cancelOf, faultOf, isSender } from "./alert.ts";
import { type AnswerNeeds, answer } from "./answer.ts";
import config from "./config.ts";
import { documentOf, type Signer } from "./document.ts";
import { openShelf, type Shelf } from "./shelf.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const SHORTEST_TOKEN = 16;

/** Alerts in feeds: one feed for each group, one document for each word about a message. */
export default definePlugin({
  config,
  activate(ctx) {
    const { sender, access, feedToken } = ctx.config;
    if (sender === null || !isSender(sender)) return lacking(ctx, "sender is not set to a name without spaces");
    if (access === "token" && (feedToken ?? "").length < SHORTEST_TOKEN)
      return lacking(ctx, `the feeds are not public, and feedToken has less than ${SHORTEST_TOKEN} characters`);
    const signer = signerOf(ctx.config);
    if (typeof signer === "string") return lacking(ctx, signer);
    const settings = { ...ctx.config, sender };
    const shelf = openShelf(ctx.state);
    const outbox = createOutbox({
      ...ctx,
      atOnce: 1,
      fault: (item) => faultOf(item, settings),
      hand: (item) => publish(item, shelf, settings),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    ctx.onEvent("notification.stopped", ({ notificationId, reason }) => {
      if (reason === "aborted") void cancel(notificationId, shelf, ctx);
    });
    ctx.route("", (request) => answer(request, readersOf(ctx, shelf, signer)));
    ctx.status("ok");
  },
});

/** Nobody tells who has read a feed: what stands in it is sent, and that is the last that is known. */
async function publish(item: DeliveryItem, shelf: Shelf, settings: Parameters<typeof alertOf>[2]): Promise<Handed> {
  try {
    await shelf.add(item.device.id, (alerts) => {
      const earlier = alerts.find(({ notificationId }) => notificationId === item.follows) ?? null;
      return alertOf(item, earlier, settings);
    });
    return { taken: true, level: "sent", last: true };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { taken: false, reason: `the alert could not be kept: ${words}`, retryable: true, down: false };
  }
}

async function cancel(notificationId: string, shelf: Shelf, { clock, log }: Context): Promise<void> {
  try {
    await shelf.follow(notificationId, (about) => (about.msgType === "Cancel" ? null : cancelOf(about, clock.now())));
  } catch (error) {
    log.error({ notificationId, err: String(error) }, "an alert could not be cancelled");
  }
}

function readersOf(ctx: Context, shelf: Shelf, signer: Signer | null): AnswerNeeds {
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
    alertsOf: shelf.alertsOf,
    documentOf: (alert: Alert) => documentOf(alert, ctx.config, signer),
  };
}

/** Null for alerts that are not signed; words for a key and a certificate that do not belong together. */
function signerOf({ signingKey, certificate }: ConfigOf<typeof config>): Signer | string | null {
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
