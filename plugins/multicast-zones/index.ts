import {
  type ConfigOf,
  type DeliveryItem,
  definePlugin,
  isNetworkUnreachable,
  type MulticastTarget,
  type PluginContext,
} from "#plugin-api";
import config from "./config.ts";
import { parseConfiguredZones } from "./configured-zones.ts";
import { probeZone } from "./probe.ts";
import { sentence } from "./sentences.ts";
import { parseZoneDevice, type ZoneAddress } from "./zone-address.ts";
import { createZoneNetwork, type ZoneNetwork } from "./zone-network.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Interval of the network check without a change. */
const CHECK_MS = 60_000;

/** Multicast zones: the streamer sends to each zone's group; zones never respond. */
export default definePlugin({
  config,
  async activate(ctx) {
    const errors: string[] = [];
    const network = createZoneNetwork({
      clock: ctx.clock,
      onResult: (problem) => reportStatus(ctx, errors, problem),
    });
    ctx.deliver((batch) => {
      for (const item of batch) void deliver(ctx, network, item);
    });
    // No `stop` handler: the core ends the stream, and a zone has nothing to report.
    ctx.probe((device) => probeZone(device, ctx.clock, (zone) => targetOf(ctx, zone)));
    ctx.onEvent("network.changed", () => void network.checkAll());
    ctx.every(CHECK_MS, () => void network.checkSample());
    const configured = parseConfiguredZones(ctx.config.zones);
    errors.push(...configured.errors);
    for (const device of configured.devices) {
      const { zone } = parseZoneDevice(device);
      if (zone) network.add(targetOf(ctx, zone));
    }
    if (configured.devices.length > 0) {
      // Existing zones must work even if the configured ones cannot be stored.
      await ctx.devices
        .report(configured.devices)
        .catch((error: unknown) => errors.push(`zones: ${errorMessage(error)}`));
    }
    reportStatus(ctx, errors, null);
    void network.checkAll();
  },
});

function reportStatus(ctx: Context, errors: readonly string[], problem: string | null): void {
  if (problem !== null) ctx.status("down", [problem, ...errors].join(" "));
  else if (errors.length > 0) ctx.status("degraded", errors.join("; "));
  else ctx.status("ok");
}

/** What a zone is sent to, from its own interface, the plugin's, or the appliance's. */
function targetOf(ctx: Context, { group, port, networkInterface }: ZoneAddress): MulticastTarget {
  return { group, port, networkInterface: networkInterface ?? ctx.config.networkInterface ?? ctx.multicastInterface };
}

/** Opens the stream of one zone. `sent`: its first packet was sent, the most that can be known. */
async function deliver(ctx: Context, network: ZoneNetwork, item: DeliveryItem): Promise<void> {
  const { deliveryId, notificationId } = item;
  if (!item.audio) return ctx.outcome(deliveryId, "failed", { reason: sentence("no-display"), unsupported: true });
  const { zone, error } = parseZoneDevice(item.device, item.priority);
  if (!zone) return ctx.outcome(deliveryId, "failed", { reason: error, retryable: false, inconclusive: true });
  const target = targetOf(ctx, zone);
  network.add(target);
  const { networkInterface = ctx.config.networkInterface } = zone;
  try {
    await ctx.stream.open({ ...zone, ...(networkInterface ? { networkInterface } : {}) }, notificationId);
    ctx.outcome(deliveryId, "sent");
  } catch (error) {
    const message = errorMessage(error);
    if (isNetworkUnreachable(error)) {
      ctx.outcome(deliveryId, "failed", { reason: message, retryable: true, noNetwork: true });
      network.fail(target, message);
    } else {
      const reason = sentence("stream-failed", { error: message });
      ctx.outcome(deliveryId, "failed", { reason, retryable: true, inconclusive: true });
    }
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
