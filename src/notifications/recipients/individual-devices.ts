import { invalidValue, requiredValue } from "../../lib/errors.ts";
import type { StoreReader } from "../../store/store.ts";
import type { MessageInput, NotificationRow } from "../compose/message-builder.ts";

/** Kinds of single devices, with the type of device that each of them means; null for any. own choice but for the first */
const DEVICE_KINDS = { "ip-speaker": "speakers", phone: "phones", device: null } as const;
const FIELD = "additionalDeviceRecipients";
/** own choice */
const MAX_DEVICES = 1_000;

/**
 * Adds the devices that a sender names one by one to `additionalDeviceIds`. own choice: `lookupValue` is the device's id,
 * or else its identifier, without case. Throws required, invalid-value naming the entry. @source digest `/v1/notifications`
 */
export function resolveIndividualDevices(message: MessageInput, reader: StoreReader): MessageInput {
  const list = message.values.additionalDeviceRecipients ?? null;
  if (list === null) return message;
  if (!Array.isArray(list) || list.length > MAX_DEVICES)
    throw invalidValue(FIELD, `A list of at most ${MAX_DEVICES} is expected.`);
  const found = list.map((entry: unknown, at) => deviceOf(entry, `${FIELD}[${at}]`, reader));
  const additionalDeviceIds = [...new Set([...(message.values.additionalDeviceIds ?? []), ...found])];
  return {
    values: { ...message.values, additionalDeviceIds },
    given: new Set([...message.given, "additionalDeviceIds"]),
  };
}

/** By id, identifier or what groups call it, each by its index: a message may name a thousand among very many devices. */
const FOUND = `SELECT id FROM devices WHERE (? IS NULL OR type = ?) AND pk IN (
    SELECT pk FROM devices WHERE id = lower(?)
    UNION ALL SELECT pk FROM devices WHERE device_identifier = ? COLLATE NOCASE
    UNION ALL SELECT pk FROM devices WHERE icop_id = ? COLLATE NOCASE)
  ORDER BY id = lower(?) DESC, pk LIMIT 1`;

function deviceOf(entry: unknown, at: string, reader: StoreReader): string {
  const { type, lookupValue } = (entry ?? {}) as { type?: unknown; lookupValue?: unknown };
  if (type === undefined) throw requiredValue(`${at}.type`);
  if (typeof type !== "string" || !Object.hasOwn(DEVICE_KINDS, type))
    throw invalidValue(`${at}.type`, `It is one of ${Object.keys(DEVICE_KINDS).join(", ")}.`);
  if (lookupValue === undefined) throw requiredValue(`${at}.lookupValue`);
  const kind = DEVICE_KINDS[type as keyof typeof DEVICE_KINDS];
  const named = typeof lookupValue === "string" ? lookupValue : "";
  const device = reader.one<{ id: string }>(FOUND, ...[kind, kind, named, named, named, named]);
  if (!device) throw invalidValue(`${at}.lookupValue`, "There is no such device.");
  return device.id;
}

/**
 * Internal keys of all devices of appliances that a message is for: those of its groups, then the single ones, then those
 * of messages whose devices get it, too, each once.
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
