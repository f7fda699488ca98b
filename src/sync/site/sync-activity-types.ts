import devices from "../../resources/devices/devices.ts";
import type { RowBody } from "../storage/transaction-program.ts";

/** Names of the activities of a checkpoint for one resource. */
export interface ActivityTypes {
  /** Accounts for every row of the family. */
  sync: string;
  /** Prefix of the activities of created, updated and deleted rows; null if there are none. */
  verbs: string | null;
  /** Activity of refused rows; null if `sync` covers them. */
  skipped: string | null;
}

/** Names by which activities refer to objects; the API has no others. */
export const REFERENCE_TYPES: Readonly<Record<string, string>> = {
  "message-templates": "message-template",
  "distribution-lists": "distribution-list",
  "scheduled-notifications": "scheduled-notifications",
};

const MESSAGE: ActivityTypes = { sync: "message-sync", verbs: "message", skipped: "message-skipped" };
const OF_MESSAGES: ActivityTypes = { sync: "message-dependency-sync", verbs: null, skipped: "message-skipped" };
const GROUP: ActivityTypes = { sync: "recipient-group-sync", verbs: "recipient-group", skipped: null };
const OF_GROUPS: ActivityTypes = { sync: "recipient-group-dependency-sync", verbs: null, skipped: null };
const SCHEDULE: ActivityTypes = {
  sync: "scheduled-broadcast-sync",
  verbs: "scheduled-broadcast",
  skipped: "scheduled-broadcast-skipped",
};
const ACTIVATION: ActivityTypes = { sync: "activation-group-sync", verbs: null, skipped: null };
const CALL_MANAGER: ActivityTypes = { sync: "onprem-server-broadcast-config-change", verbs: null, skipped: null };
const DEVICE: ActivityTypes = { sync: "device-sync", verbs: null, skipped: null };
const PHONE: ActivityTypes = { sync: "phone-cache-distribute", verbs: null, skipped: null };

/** Count key of phones in acknowledged records: they are the appliance's phone cache. */
const PHONES = "phones";

/** Count key of an acknowledged record: its resource, or `phones`. */
export function activityCountKey(type: string, body: RowBody | null): string {
  const isPhone = type === devices.name && body?.type === "phones";
  return type === "edit" ? String(body?.type) : isPhone ? PHONES : type;
}

const BY_RESOURCE: Readonly<Record<string, ActivityTypes>> = {
  "message-templates": MESSAGE,
  "distribution-lists": GROUP,
  "device-groups": GROUP,
  "collaboration-groups": GROUP,
  subscriptions: GROUP,
  "bell-schedules": SCHEDULE,
  "clear-devices-schedules": SCHEDULE,
  "ring-lists": SCHEDULE,
  "scheduled-notifications": SCHEDULE,
  "activation-groups": ACTIVATION,
  "callmgr-clusters": CALL_MANAGER,
  "callmgr-onprem-servers": CALL_MANAGER,
  users: OF_GROUPS,
  "user-devices": OF_GROUPS,
  "distribution-list-scim-groups": OF_GROUPS,
  "scim-groups": OF_GROUPS,
  "scim-group-members": OF_GROUPS,
  domains: OF_GROUPS,
  sites: OF_GROUPS,
  buildings: OF_GROUPS,
  floors: OF_GROUPS,
  zones: OF_GROUPS,
  "site-recipients": OF_GROUPS,
  "site-roles": OF_GROUPS,
  "api-devices": OF_GROUPS,
};

/** Whether each row of a resource has activities, beside the sums. */
export const hasObjectActivities = (type: string): boolean => (BY_RESOURCE[type]?.verbs ?? null) !== null;

/**
 * Activities of a resource: site state is device-sync, phones are phone-cache-distribute, facts are log-message, and
 * resources without a name of their own are dependencies of messages.
 * @source docs/decisions/0300-sync-limits.md
 */
export function activityTypesOf(type: string, cls: string): ActivityTypes {
  if (type === PHONES) return PHONE;
  if (cls === "C") return DEVICE;
  if (cls === "D") return { sync: "log-message", verbs: null, skipped: null };
  return BY_RESOURCE[type] ?? OF_MESSAGES;
}
