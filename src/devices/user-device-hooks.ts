import { invalidValue, LimitError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import extensions from "../resources/devices/extensions.ts";
import userDevices, { USER_DEVICE_TYPES } from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, PresentContext, ResourceHooks, RowMutation, StoreReader } from "../store/store.ts";

type DeviceRow = RowOf<typeof userDevices>;

/** Devices per user, without those of types with a limit of their own. @source docs/decisions/0005-users-and-devices.md, User devices */
const MAX_DEVICES = 5;

/**
 * Clears the reason of an enabled device and checks its type (documented or served by an extension) and the limit of five
 * devices per user. If the serving extension has a deviceLimit, only that applies to devices of its type, and they do not
 * count among the five. @source docs/decisions/0005-users-and-devices.md, User devices
 */
export const userDeviceHooks: ResourceHooks<typeof userDevices> = {
  beforeWrite: validateTypeAndLimit,
  present: serializeEndpointDevices,
};

interface EndpointDevice {
  name: string;
  id: string;
  icopId: string;
  endpointId: string;
  description: string;
  type: string;
  isLicensed: number;
  defunct: number;
}

/**
 * Devices of appliances with the same identifiers, for callers who may read them; one indexed query per page. Identifiers are
 * compared without case, as their uniqueness is.
 */
function serializeEndpointDevices(
  rows: readonly DeviceRow[],
  { reader, scope, query }: PresentContext,
): Record<string, unknown>[] {
  const names = rows.flatMap(({ deviceIdentifier }) => deviceIdentifier ?? []);
  const found = reader.all<EndpointDevice & Record<string, string | number>>(
    `SELECT j.value AS name, d.id, d.icop_id AS icopId, e.id AS endpointId, d.description, d.type,
       d.is_licensed AS isLicensed, d.defunct
     FROM json_each(?) j CROSS JOIN devices d ON d.device_identifier = j.value COLLATE NOCASE
     JOIN endpoints e ON e.pk = d.endpoint_pk`,
    JSON.stringify(names),
  );
  const byName = new Map(found.map((each) => [each.name, each]));
  return rows.map(({ deviceIdentifier }) => {
    const same = byName.get(deviceIdentifier ?? "");
    const seen = same && scope.allows("get", `/devices/${same.id}`) ? same : null;
    const shown = { endpointId: seen?.endpointId ?? null, icopId: seen?.icopId ?? null };
    return query.includeEndpointDevices === true
      ? { ...shown, endpointDevice: seen && serializeEndpointDevice(seen) }
      : shown;
  });
}

function serializeEndpointDevice({ id, description, type, isLicensed, defunct }: EndpointDevice): object {
  return { id, description, type, isLicensed: isLicensed === 1, defunct: defunct === 1 };
}

function validateTypeAndLimit(
  { before, after }: RowMutation<typeof userDevices>,
  tx: StoreReader,
  by: ActorContext,
): void {
  if (after && !after.disabled) after.disabledReason = null;
  // The side that made a replicated row has checked it; together both sides may have made more.
  if (!after || by.replicated || before?.type === after.type) return;
  const serving = tx.find(extensions, { type: "device", deviceType: after.type }, 1)[0];
  if (!serving && !(USER_DEVICE_TYPES as readonly string[]).includes(after.type)) {
    throw invalidValue("type", sentence("field.must-be-a-type-that-an-installed-extension-serves"));
  }
  const limit = serving?.deviceLimit ?? null;
  if (limit !== null) {
    const sameType = tx.count(userDevices, { userId: after.userId, type: after.type });
    if (sameType >= limit)
      throw new LimitError(sentence("limit.of-devices-of-type", { limit, type: after.type }), limit);
  } else if (countLimitedDevices(after, tx) >= MAX_DEVICES) {
    throw new LimitError(sentence("limit.of-devices", { limit: MAX_DEVICES }), MAX_DEVICES);
  }
}

/** Other devices of the user whose type has no limit. */
function countLimitedDevices({ pk, userId }: DeviceRow, tx: StoreReader): number {
  const found = tx.one<{ count: number }>(
    `SELECT count(*) AS count FROM user_devices d
     WHERE d.user_pk = (SELECT pk FROM users WHERE id = ?) AND d.pk <> ? AND NOT EXISTS (
       SELECT 1 FROM extensions e WHERE e.type = 'device' AND e.device_limit IS NOT NULL AND e.device_type = d.type)`,
    userId,
    pk,
  );
  return found?.count ?? 0;
}
