import type { BrowserClock } from "../browser-clock.ts";
import type { Change } from "./live-feed.ts";

/** Resources whose rows stand in the answers of another; a change of the first makes the second stale too. */
const SHOWN_IN: Readonly<Record<string, readonly string[]>> = {
  deliveries: ["notifications"],
  "notification-recipients": ["notifications"],
  "notification-activities": ["notifications"],
  notifications: ["deliveries"],
  subscriptions: ["users"],
  "security-group-members": ["users"],
  "security-groups": ["users"],
  devices: ["device-groups"],
};

/** Most often that one resource is read anew: a broadcast to thousands changes hundreds of rows a second. */
const PAUSE_MS = 1_000;

/**
 * Tells once per pause which resources are stale, the first time at once, so that a storm of changes costs one reading
 * per second and the last change is never left out.
 */
export function createStaleQueries(clock: BrowserClock, refresh: (resource: string) => void) {
  const resting = new Map<string, { again: boolean }>();
  const tell = (resource: string): void => {
    const rest = resting.get(resource);
    if (rest) {
      rest.again = true;
      return;
    }
    refresh(resource);
    const next = { again: false };
    resting.set(resource, next);
    clock.after(PAUSE_MS, () => {
      resting.delete(resource);
      if (next.again) tell(resource);
    });
  };
  return (changes: readonly Change[]): void => {
    const resources = new Set(changes.flatMap(({ resource }) => [resource, ...(SHOWN_IN[resource] ?? [])]));
    for (const resource of resources) tell(resource);
  };
}
