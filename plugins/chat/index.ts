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

/** Chat channels: one post for each group, to the webhook that bears its channel's name. */
export default definePlugin({
  config,
  activate(ctx) {
    const { webhooks, language } = ctx.config;
    const addresses = parseNamedSecrets(webhooks);
    if (addresses.size === 0) return failForMissingConfig(ctx, "no webhooks are set");
    const health = createChannelHealth(addresses.keys(), ctx.status);
    const outboxes = new Map<string, Outbox>();
    const channels = [...addresses].map(([name, url]) => {
      const channel = createChatChannel({ ...ctx, url });
      const send = (item: DeliveryItem) => channel.post(item, chatPost(item, formatOf(item) ?? "card", language));
      // One after the other, so that messages stand in the channel as they were sent.
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
        const outbox = outboxes.get(channelOf(item));
        if (outbox) outbox.add([item]);
        else {
          const reason = `there is no webhook for the channel ${channelOf(item)}`;
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

/** What the group's properties name, or else the group's own name. */
function channelOf({ device }: DeliveryItem): string {
  return device.attributes.channel || device.deviceIdentifier;
}

function formatOf({ device }: DeliveryItem): ChatFormat | null {
  const { format = "card" } = device.attributes;
  return format === "card" || format === "text" ? format : null;
}

function formatError(item: DeliveryItem): string | null {
  return formatOf(item) === null ? "the group's format is neither card nor text" : null;
}

/** Tells how all channels are, by what each of them said last: a webhook can only be asked by writing to it. */
function createChannelHealth(
  names: Iterable<string>,
  status: (state: "ok" | "degraded" | "down", reason?: string) => void,
) {
  const faults = new Map<string, string | null>([...names].map((name) => [name, null]));
  return (name: string) =>
    (_state: "ok" | "down", reason?: string): void => {
      faults.set(name, reason ?? null);
      const known = [...faults].filter(([, fault]) => fault !== null);
      const words = known.map(([channel, fault]) => `${channel}: ${fault}`).join("; ");
      if (known.length === 0) status("ok");
      else status(known.length === faults.size ? "down" : "degraded", words);
    };
}
