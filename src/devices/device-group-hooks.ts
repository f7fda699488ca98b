import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type deviceGroups from "../resources/devices/device-groups.ts";
import devices from "../resources/devices/devices.ts";
import type { PresentContext, ResourceHooks, StoreReader, VisibilityCondition } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import type { GroupCounts } from "./group-counts.ts";
import { parseGroupDefinition } from "./group-definition.ts";

/** A row that names devices by icopId. */
interface NamedDeviceIds {
  additionIds: readonly string[];
  exclusionIds: readonly string[];
}

/** Validates and normalizes filters, rejects cycles, and serializes named devices and counts. */
export function deviceGroupHooks(counts: GroupCounts): ResourceHooks<typeof deviceGroups> {
  return {
    beforeWrite({ before, after }, tx) {
      if (!after) return;
      after.filters = parseGroupDefinition({ ...after }).filters;
      if (before) rejectCycle(tx, before.pk, before.id, after.baseDeviceGroupIds);
    },
    present(rows, context) {
      const named = loadNamedDevices(rows, context);
      const numbers = context.query.includeDeviceCounts === true ? counts.of(rows.map((row) => row.id)) : null;
      return rows.map((row) => ({
        additions: named(row.additionIds),
        exclusions: named(row.exclusionIds),
        ...(numbers?.get(row.id) ?? {}),
      }));
    },
  };
}

/** Throws CallerError if one of `baseIds` is based on the group itself, directly or indirectly. */
function rejectCycle(reader: StoreReader, pk: number, id: string, baseIds: readonly string[]): void {
  const found = reader.one(
    `WITH RECURSIVE below(pk) AS (
       SELECT pk FROM device_groups WHERE id IN (SELECT value FROM json_each(?))
       UNION SELECT l.target FROM below b JOIN device_groups__base_device_group_ids l ON l.owner = b.pk WHERE b.pk <> ?
     ) SELECT pk FROM below WHERE pk = ?`,
    JSON.stringify(baseIds),
    pk,
    pk,
  );
  if (found || baseIds.includes(id)) {
    throw invalidValue(
      "baseDeviceGroupIds",
      sentence("field.must-not-form-a-cycle-a-group-must-not-be-based-on-itself-directly"),
    );
  }
}

interface DeviceLine {
  id: string;
  icop_id: string;
  device_identifier: string;
  description: string;
  type: string;
  endpoint_id: string;
  attributes: string | null;
  defunct: number | null;
  is_licensed: number | null;
}

/** All devices that the rows of a page name, by icopId, in one query; devices that the caller may not read are omitted. */
export function loadNamedDevices(rows: readonly NamedDeviceIds[], { reader, scope }: PresentContext) {
  const wanted = new Set(rows.flatMap((row) => [...row.additionIds, ...row.exclusionIds]));
  const found = new Map<string, Record<string, unknown>>();
  if (wanted.size > 0) {
    for (const line of readNamedDevices(reader, [...wanted], scope.visible(devices)))
      found.set(line.icop_id.toLowerCase(), serializeDevice(line));
  }
  return (ids: readonly string[]) => ids.flatMap((id) => found.get(id.toLowerCase()) ?? []);
}

function readNamedDevices(reader: StoreReader, icopIds: readonly string[], visible: VisibilityCondition): DeviceLine[] {
  const { sql, params } = buildVisibilitySql(visible);
  return reader.all<DeviceLine>(
    `SELECT t.id, t.icop_id, t.device_identifier, t.description, t.type, e.id AS endpoint_id, t.attributes, t.defunct,
       t.is_licensed
     FROM devices t JOIN endpoints e ON e.pk = t.endpoint_pk
     WHERE t.icop_id COLLATE NOCASE IN (SELECT value FROM json_each(?)) AND ${sql}`,
    JSON.stringify(icopIds),
    ...params,
  );
}

function serializeDevice(line: DeviceLine): Record<string, unknown> {
  return {
    id: line.id,
    icopId: line.icop_id,
    deviceIdentifier: line.device_identifier,
    description: line.description,
    type: line.type,
    endpointId: line.endpoint_id,
    attributes: line.attributes === null ? {} : JSON.parse(line.attributes),
    defunct: line.defunct === 1,
    isLicensed: line.is_licensed !== 0,
  };
}
