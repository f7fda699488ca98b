import type { StopRequest } from "../plugin-api/index.ts";
import type { Providers } from "./providers.ts";

/** Calls deliveries off at their channels, one request per channel. */
export function callOff(
  providers: Pick<Providers, "stop">,
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
