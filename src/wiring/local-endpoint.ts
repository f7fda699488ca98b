import { BugError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Store } from "../store/store.ts";

/** This appliance's endpoint, which is asked for with every message: remembered until endpoints change. */
export function trackLocalEndpoint(store: Store, events: Events): { id(): string; stop(): void } {
  let known: string | null = null;
  const forget = (): void => {
    known = null;
  };
  const stops = [
    events.on("row.changed", ({ resource }) => resource === endpoints.name && forget()),
    events.on("batch.published", forget),
  ];
  return {
    id() {
      known ??= findLocalEndpoint(store);
      return known;
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

/** The one that `init` made, which can't be deleted. */
function findLocalEndpoint(store: Store): string {
  const own = store.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0];
  if (!own) throw new BugError("The appliance has no endpoint.");
  return own.id;
}
