import { type DeliveryItem, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { parseConfiguredZones } from "./configured-zones.ts";
import { probeZone } from "./probe.ts";
import { parseZoneAddress } from "./zone-address.ts";

type DeliveryContext = Pick<PluginContext, "stream" | "outcome">;

/** Multicast zones: the streamer sends to each zone's group; zones never respond. */
export default definePlugin({
  config,
  async activate(ctx) {
    ctx.deliver((batch) => {
      for (const item of batch) void deliver(ctx, item);
    });
    // No `stop` handler: the core ends the stream, and a zone has nothing to report.
    ctx.probe((device) => probeZone(device, ctx.clock));
    const { devices, errors } = parseConfiguredZones(ctx.config.zones);
    if (devices.length > 0) {
      // Existing zones must work even if the configured ones cannot be stored.
      await ctx.devices.report(devices).catch((error: unknown) => errors.push(`zones: ${errorMessage(error)}`));
    }
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else ctx.status("ok");
  },
});

/** Opens the stream of one zone. `sent`: its first packet was sent, the most that can be known. */
async function deliver(ctx: DeliveryContext, item: DeliveryItem): Promise<void> {
  const { deliveryId, notificationId } = item;
  if (!item.audio) return ctx.outcome(deliveryId, "skipped", { reason: "a zone has no display" });
  const { Group: group, Port: port, Codec: codec, TTL: ttl, Priorities: priorities } = item.device.attributes;
  const { zone, error } = parseZoneAddress({ group, port, codec, ttl, priorities }, item.priority);
  if (!zone) return ctx.outcome(deliveryId, "failed", { reason: error, retryable: false });
  try {
    await ctx.stream.open(zone, notificationId);
    ctx.outcome(deliveryId, "sent");
  } catch (error) {
    const reason = `failed to open the stream: ${errorMessage(error)}`;
    ctx.outcome(deliveryId, "failed", { reason, retryable: true });
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
