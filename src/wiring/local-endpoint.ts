import { BugError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Store } from "../store/store.ts";

/** Endpoint id of this appliance, needed for every message: cached until endpoints change. */
export function trackLocalEndpoint(store: Store, events: Events): { id(): string; stop(): void } {
  let cachedId: string | null = null;
  const invalidate = (): void => {
    cachedId = null;
  };
  const unsubscribers = [
    events.on("row.changed", ({ resource }) => resource === endpoints.name && invalidate()),
    events.on("batch.published", invalidate),
  ];
  return {
    id() {
      cachedId ??= findLocalEndpoint(store);
      return cachedId;
    },
    stop: () => {
      for (const unsubscribe of unsubscribers) unsubscribe();
    },
  };
}

/** The endpoint created by `init`, which can't be deleted. */
function findLocalEndpoint(store: Store): string {
  const own = store.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0];
  if (!own) throw new BugError("The appliance has no endpoint.");
  return own.id;
}
