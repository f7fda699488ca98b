import type { StopRequest } from "../../plugin-api/index.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";

/** Stops deliveries at their channels, one request per channel. */
export function stopDeliveries(
  providers: Pick<DeliveryProviders, "stop">,
  deliveries: Iterable<{ pk: number; provider: string }>,
  reason: StopRequest["reason"],
): void {
  const byProvider = new Map<string, number[]>();
  for (const { provider, pk } of deliveries) {
    const ids = byProvider.get(provider) ?? [];
    byProvider.set(provider, ids);
    ids.push(pk);
  }
  for (const [provider, deliveryIds] of byProvider) providers.stop(provider, { deliveryIds, reason });
}
