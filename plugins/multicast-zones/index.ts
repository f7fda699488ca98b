import { type DeliveryItem, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { readConfiguredZones } from "./configured-zones.ts";
import { probeZone } from "./probe.ts";
import { readZoneAddress } from "./zone-address.ts";

type Door = Pick<PluginContext, "stream" | "outcome">;

/** Multicast zones: the core's streamer sends to each zone's own group; nothing ever comes back from a zone. */
export default definePlugin({
  config,
  async activate(ctx) {
    ctx.deliver((batch) => {
      for (const item of batch) void deliver(ctx, item);
    });
    // A zone falls silent when the core ends its stream, and has nothing to tell: no `stop` handler.
    ctx.probe((device) => probeZone(device, ctx.clock));
    const { devices, faults } = readConfiguredZones(ctx.config.zones);
    if (devices.length > 0) {
      // Zones that exist already must sound even when the configured ones can't be stored.
      await ctx.devices.report(devices).catch((error: unknown) => faults.push(`zones: ${wordsOf(error)}`));
    }
    if (faults.length > 0) ctx.status("degraded", faults.join("; "));
    else ctx.status("ok");
  },
});

/** Has the stream of one zone opened; `sent` means that its first packet has left, the most that can be known. */
async function deliver(ctx: Door, item: DeliveryItem): Promise<void> {
  const { deliveryId, notificationId } = item;
  if (!item.audio) return ctx.outcome(deliveryId, "skipped", { reason: "a zone has no display" });
  const { Group: group, Port: port, Codec: codec, TTL: ttl, Priorities: priorities } = item.device.attributes;
  const { zone, fault } = readZoneAddress({ group, port, codec, ttl, priorities }, item.priority);
  if (!zone) return ctx.outcome(deliveryId, "failed", { reason: fault, retryable: false });
  try {
    await ctx.stream.open(zone, notificationId);
    ctx.outcome(deliveryId, "sent");
  } catch (error) {
    const reason = `the stream could not be opened: ${wordsOf(error)}`;
    ctx.outcome(deliveryId, "failed", { reason, retryable: true });
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
