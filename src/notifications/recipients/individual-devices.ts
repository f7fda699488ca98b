import { invalidValue, requiredValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { StoreReader } from "../../store/store.ts";
import type { MessageInput, NotificationRow } from "../compose/message-builder.ts";

/** Recipient types of single devices, with the device type of each; null for any. */
const DEVICE_KINDS = { "ip-speaker": "speakers", phone: "phones", device: null } as const;
const FIELD = "additionalDeviceRecipients";
const MAX_DEVICES = 1_000;

/**
 * Adds the devices that a sender names individually to `additionalDeviceIds`. `lookupValue` is the device's id, or else
 * its identifier, ignoring case. Throws required, invalid-value naming the entry. @source
 * docs/decisions/0042-api-contract.md
 */
export function resolveIndividualDevices(message: MessageInput, reader: StoreReader): MessageInput {
  const list = message.values.additionalDeviceRecipients ?? null;
  if (list === null) return message;
  if (!Array.isArray(list) || list.length > MAX_DEVICES)
    throw invalidValue(FIELD, sentence("field.must-be-a-list-of-at-most-limit-entries", { limit: MAX_DEVICES }));
  const found = list.map((entry: unknown, at) => deviceOf(entry, `${FIELD}[${at}]`, reader));
  const additionalDeviceIds = [...new Set([...(message.values.additionalDeviceIds ?? []), ...found])];
  return {
    values: { ...message.values, additionalDeviceIds },
    given: new Set([...message.given, "additionalDeviceIds"]),
  };
}

/** By id, identifier or group name, each with its index: a message may name a thousand of very many devices. */
const FOUND = `SELECT id FROM devices WHERE (? IS NULL OR type = ?) AND pk IN (
    SELECT pk FROM devices WHERE id = lower(?)
    UNION ALL SELECT pk FROM devices WHERE device_identifier = ? COLLATE NOCASE
    UNION ALL SELECT pk FROM devices WHERE icop_id = ? COLLATE NOCASE)
  ORDER BY id = lower(?) DESC, pk LIMIT 1`;

function deviceOf(entry: unknown, at: string, reader: StoreReader): string {
  const { type, lookupValue } = (entry ?? {}) as { type?: unknown; lookupValue?: unknown };
  if (type === undefined) throw requiredValue(`${at}.type`);
  if (typeof type !== "string" || !Object.hasOwn(DEVICE_KINDS, type))
    throw invalidValue(
      `${at}.type`,
      sentence("field.must-be-one-of-values", { values: Object.keys(DEVICE_KINDS).join(", ") }),
    );
  if (lookupValue === undefined) throw requiredValue(`${at}.lookupValue`);
  const kind = DEVICE_KINDS[type as keyof typeof DEVICE_KINDS];
  const named = typeof lookupValue === "string" ? lookupValue : "";
  const device = reader.one<{ id: string }>(FOUND, ...[kind, kind, named, named, named, named]);
  if (!device) throw invalidValue(`${at}.lookupValue`, sentence("field.device-not-found"));
  return device.id;
}

/**
 * Internal keys of all target devices of a message: those of its groups, then the individual ones, then those of the
 * messages whose recipients it shares; each once.
 */
export async function resolveTargetDevices(
  row: Pick<NotificationRow, "deviceGroupIds" | "additionalDeviceIds" | "toldBefore">,
  {
    store,
    memberships,
  }: { store: StoreReader; memberships: { members(groupIds: readonly string[]): Promise<readonly number[]> } },
): Promise<readonly number[]> {
  const ofGroups = row.deviceGroupIds.length === 0 ? [] : await memberships.members(row.deviceGroupIds);
  if (row.additionalDeviceIds.length === 0 && row.toldBefore === null) return ofGroups;
  const single = store.all<{ pk: number }>(
    `SELECT pk FROM devices WHERE id IN (SELECT value FROM json_each(?))
     UNION SELECT l.device_pk FROM json_each(?) x JOIN notifications n ON n.id = x.value
       JOIN deliveries l ON l.notification_pk = n.pk WHERE l.device_pk IS NOT NULL`,
    JSON.stringify(row.additionalDeviceIds),
    row.toldBefore ?? "[]",
  );
  return [...new Set([...ofGroups, ...single.map(({ pk }) => pk)])];
}
