import { createOutbox, type DeliveryItem, definePlugin, lacking, namedSecrets, type Outbox } from "#plugin-api";
import { createChannel } from "./channel.ts";
import config from "./config.ts";
import { type Format, postOf } from "./post.ts";

/** Chat channels: one post for each group, to the webhook that bears its channel's name. */
export default definePlugin({
  config,
  activate(ctx) {
    const { webhooks, language } = ctx.config;
    const addresses = namedSecrets(webhooks);
    if (addresses.size === 0) return lacking(ctx, "no webhooks are set");
    const health = createHealth(addresses.keys(), ctx.status);
    const outboxes = new Map<string, Outbox>();
    const channels = [...addresses].map(([name, url]) => {
      const channel = createChannel({ ...ctx, url });
      const hand = (item: DeliveryItem) => channel.post(item, postOf(item, formatOf(item) ?? "card", language));
      // One after the other, so that messages stand in the channel as they were sent.
      const outbox = createOutbox({ ...ctx, status: health(name), atOnce: 1, fault: faultOf, hand });
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

function formatOf({ device }: DeliveryItem): Format | null {
  const { format = "card" } = device.attributes;
  return format === "card" || format === "text" ? format : null;
}

function faultOf(item: DeliveryItem): string | null {
  return formatOf(item) === null ? "the group's format is neither card nor text" : null;
}

/** Tells how all channels are, by what each of them said last: a webhook can only be asked by writing to it. */
function createHealth(names: Iterable<string>, status: (state: "ok" | "degraded" | "down", reason?: string) => void) {
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
