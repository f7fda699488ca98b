import {
  createOutbox,
  type DeliveryItem,
  definePlugin,
  failForMissingConfig,
  type Outbox,
  parseNamedSecrets,
} from "#plugin-api";
import { createChatChannel } from "./chat-channel.ts";
import { type ChatFormat, chatPost } from "./chat-post.ts";
import config from "./config.ts";
import { sentence } from "./sentences.ts";

/** Chat channels: one post per group, to the webhook with its channel's name. */
export default definePlugin({
  config,
  activate(ctx) {
    const { webhooks, language } = ctx.config;
    const addresses = parseNamedSecrets(webhooks);
    if (addresses.size === 0) return failForMissingConfig(ctx, sentence("webhooks-missing"));
    const health = createChannelHealth(addresses.keys(), ctx.status);
    const outboxes = new Map<string, Outbox>();
    const channels = [...addresses].map(([name, url]) => {
      const channel = createChatChannel({ ...ctx, url });
      const send = (item: DeliveryItem) => channel.post(item, chatPost(item, formatOf(item) ?? "card", language));
      // One at a time, so that messages appear in order.
      const outbox = createOutbox({
        ...ctx,
        status: health(name),
        concurrency: 1,
        undeliverableReason: formatError,
        send,
      });
      outboxes.set(name, outbox);
      return { outbox, channel };
    });
    ctx.deliver((batch) => {
      for (const item of batch) {
        const outbox = outboxes.get(channelOf(item)) ?? outboxes.get(channelOf(item).replace(/^chat:/, ""));
        if (outbox) outbox.add([item]);
        else {
          const reason = sentence("channel-unknown", { channel: channelOf(item) });
          ctx.outcome(item.deliveryId, "failed", { reason, retryable: false });
        }
      }
    });
    ctx.stop(({ deliveryIds }) => {
      for (const { outbox, channel } of channels) {
        outbox.drop(deliveryIds);
        channel.drop(deliveryIds);
      }
    });
    ctx.status("ok");
  },
});

/** The channel from the properties, or else the name; the name of a device follows `chat:`. */
function channelOf({ device }: DeliveryItem): string {
  return device.attributes.channel || device.deviceIdentifier;
}

function formatOf({ device }: DeliveryItem): ChatFormat | null {
  const { format = "card" } = device.attributes;
  return format === "card" || format === "text" ? format : null;
}

function formatError(item: DeliveryItem): string | null {
  return formatOf(item) === null ? sentence("format-invalid") : null;
}

/** Aggregates the health of all channels from their latest results: a webhook can only be tested by posting. */
function createChannelHealth(
  names: Iterable<string>,
  status: (state: "ok" | "degraded" | "down", reason?: string) => void,
) {
  const errors = new Map<string, string | null>([...names].map((name) => [name, null]));
  return (name: string) =>
    (_state: "ok" | "down", reason?: string): void => {
      errors.set(name, reason ?? null);
      const known = [...errors].filter(([, error]) => error !== null);
      const message = known.map(([channel, error]) => `${channel}: ${error}`).join("; ");
      if (known.length === 0) status("ok");
      else status(known.length === errors.size ? "down" : "degraded", message);
    };
}
