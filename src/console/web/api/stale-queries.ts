import type { BrowserClock } from "../browser-clock.ts";
import type { RowChange } from "./live-feed.ts";

/** Resources whose rows stand in the answers of another; a change of the first makes the second stale too. */
const SHOWN_IN: Readonly<Record<string, readonly string[]>> = {
  deliveries: ["notifications", "notification-activities", "devices", "incidents"],
  "notification-recipients": ["notifications", "incidents"],
  "notification-activities": ["notifications", "incidents"],
  notifications: ["deliveries", "notification-activities", "incidents"],
  "incident-activities": ["incidents"],
  "bulk-uploads": ["bulk-upload-logs"],
  "alarm-events": ["alarms"],
  "ring-lists": ["bell-schedules"],
  "bell-schedules": ["bell-rings"],
  subscriptions: ["users"],
  "security-group-members": ["users"],
  "security-groups": ["users"],
  "user-permissions": ["users"],
  "security-group-permissions": ["users"],
  devices: ["device-groups"],
  "message-templates": ["security-groups", "bell-rings"],
  buildings: ["sites"],
  floors: ["buildings"],
  zones: ["floors"],
  "site-recipients": ["site-roles"],
  endpoints: ["link"],
  "scim-groups": ["security-group-scim-groups", "distribution-list-scim-groups"],
  "scim-group-members": ["scim-groups", "security-group-scim-groups", "distribution-list-scim-groups"],
};

/** Minimum interval between two reads of a resource: a notification to thousands changes hundreds of rows a second. */
const PAUSE_MS = 1_000;
/** A read that takes longer than this many intervals is abandoned for the next one. */
const MAX_PAUSES = 10;

/**
 * Reports at most once per interval which resources are stale, the first time at once and never losing the last
 * change, so that a burst costs one refetch per second. `refresh` resolves once everything is read: the next one
 * waits for it, since a new refetch would cancel the one in flight and the page would show nothing until the burst is
 * over.
 */
export function createStaleQueries(
  clock: BrowserClock,
  refresh: (resource: string, changes: RowChange[]) => Promise<unknown>,
) {
  const resting = new Map<string, RowChange[]>();
  const tell = (resource: string, changes: RowChange[]): void => {
    const waiting = resting.get(resource);
    if (waiting) {
      waiting.push(...changes);
      return;
    }
    const next: RowChange[] = [];
    resting.set(resource, next);
    let isRead = false;
    const done = (): void => {
      isRead = true;
    };
    refresh(resource, changes).then(done, done);
    let pauses = 0;
    const look = (): void => {
      if (!isRead && ++pauses < MAX_PAUSES) {
        clock.after(PAUSE_MS, look);
        return;
      }
      resting.delete(resource);
      if (next.length > 0) tell(resource, next);
    };
    clock.after(PAUSE_MS, look);
  };
  return (changes: readonly RowChange[]): void => {
    const byResource = new Map<string, RowChange[]>();
    for (const change of changes.flatMap(withThoseThatShowIt)) {
      const known = byResource.get(change.resource);
      if (known) known.push(change);
      else byResource.set(change.resource, [change]);
    }
    for (const [resource, all] of byResource) tell(resource, all);
  };
}

/** Resources whose changes carry the id of their notification. */
const BY_NOTIFICATION: ReadonlySet<string> = new Set(["deliveries", "notification-activities", "notifications"]);

/** Rows that show the changed one: only those of a notification are known by id. */
function withThoseThatShowIt(change: RowChange): RowChange[] {
  const shown = (SHOWN_IN[change.resource] ?? []).map((resource) => {
    const isNamed = BY_NOTIFICATION.has(change.resource) && BY_NOTIFICATION.has(resource);
    return { resource, id: isNamed ? change.id : "*", op: "update" };
  });
  return [change, ...shown];
}
