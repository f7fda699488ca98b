import { type DeliveryItem, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { parseConfiguredZones } from "./configured-zones.ts";
import { probeZone } from "./probe.ts";
import { parseZoneAddress } from "./zone-address.ts";

type DeliveryContext = Pick<PluginContext, "stream" | "outcome">;

/** Multicast zones: the core's streamer sends to each zone's own group; nothing ever comes back from a zone. */
export default definePlugin({
  config,
  async activate(ctx) {
    ctx.deliver((batch) => {
      for (const item of batch) void deliver(ctx, item);
    });
    // A zone falls silent when the core ends its stream, and has nothing to tell: no `stop` handler.
    ctx.probe((device) => probeZone(device, ctx.clock));
    const { devices, errors } = parseConfiguredZones(ctx.config.zones);
    if (devices.length > 0) {
      // Zones that exist already must sound even when the configured ones can't be stored.
      await ctx.devices.report(devices).catch((error: unknown) => errors.push(`zones: ${errorMessage(error)}`));
    }
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else ctx.status("ok");
  },
});

/** Has the stream of one zone opened; `sent` means that its first packet has left, the most that can be known. */
async function deliver(ctx: DeliveryContext, item: DeliveryItem): Promise<void> {
  const { deliveryId, notificationId } = item;
  if (!item.audio) return ctx.outcome(deliveryId, "skipped", { reason: "a zone has no display" });
  const { Group: group, Port: port, Codec: codec, TTL: ttl, Priorities: priorities } = item.device.attributes;
  const { zone, fault } = parseZoneAddress({ group, port, codec, ttl, priorities }, item.priority);
  if (!zone) return ctx.outcome(deliveryId, "failed", { reason: fault, retryable: false });
  try {
    await ctx.stream.open(zone, notificationId);
    ctx.outcome(deliveryId, "sent");
  } catch (error) {
    const reason = `the stream could not be opened: ${errorMessage(error)}`;
    ctx.outcome(deliveryId, "failed", { reason, retryable: true });
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
