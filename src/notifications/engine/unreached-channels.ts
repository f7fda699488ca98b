import type { Sentence } from "../../lib/sentences/sentences.ts";
import extensions from "../../resources/devices/extensions.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import { addActivity } from "./activity-log.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";

export interface UnreachedChannelDeps {
  providers: Pick<DeliveryProviders, "extensionId">;
  by: ActorContext;
  endpointId(): string;
}

/** Channels that could not be reached for a message, by provider, with the reason. */
export type UnreachedChannels = ReadonlyMap<string, Sentence>;

/**
 * Records in a message's activity log that channels could not be reached: by the failure code of their extension, once
 * per message and extension.
 * @source docs/decisions/0468-unreached-channels.md
 */
export function recordUnreachedChannels(
  tx: Transaction,
  notificationId: string,
  unreached: UnreachedChannels,
  { providers, by, endpointId }: UnreachedChannelDeps,
): void {
  if (unreached.size === 0 || !tx.get(notifications, notificationId)) return;
  for (const [provider, reason] of unreached) {
    const extensionId = providers.extensionId(provider);
    const type = tx.get(extensions, extensionId)?.failureCode;
    if (!type) continue;
    const earlier = tx.find(notificationActivities, { notificationId, type });
    if (earlier.some(({ details }) => (details as { extensionId?: string } | null)?.extensionId === extensionId))
      continue;
    addActivity(tx, { notificationId, type, endpointId: endpointId(), details: { extensionId, reason } }, by);
  }
}
