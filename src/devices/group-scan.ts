import type { Clock } from "../lib/clock.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { StoreReader } from "../store/store.ts";
import type { FilterableDevice } from "./device-filter.ts";
import { type CompiledGroup, compileGroups, type GroupDefinition, parseGroupDefinition } from "./group-definition.ts";

export interface GroupScanDeps {
  reader: StoreReader;
  clock: Clock;
}

/** Longest evaluation before yielding to other work, ms. @source docs/decisions/0017-store.md */
export const TIME_SLICE_MS = 6;
const ROWS_PER_READ = 200;
/** Columns of `FilterDeviceRow`. */
export const FILTER_DEVICE_COLUMNS = "pk, id, icop_id, device_identifier, description, type, attributes";
/** The columns of a device that filters use. */
export interface FilterDeviceRow {
  pk: number;
  id: string;
  icop_id: string | null;
  device_identifier: string;
  description: string;
  type: string;
  attributes: string | null;
}

/** A group row; `bases` is a JSON list of ids. */
export interface GroupDefinitionRow {
  id: string;
  filter_type: string | null;
  logical_expression: string | null;
  filters: string | null;
  addition_ids: string | null;
  exclusion_ids: string | null;
  bases: string;
  lost_references: number;
}

/** The groups with these ids and all groups that they are based on, by id; unknown ids are omitted. */
export function loadGroupDefinitions(reader: StoreReader, ids: readonly string[]): Map<string, GroupDefinition> {
  const lines = reader.all<GroupDefinitionRow>(
    `WITH RECURSIVE wanted(pk) AS (
       SELECT pk FROM device_groups WHERE id IN (SELECT value FROM json_each(?))
       UNION SELECT l.target FROM wanted w JOIN device_groups__base_device_group_ids l ON l.owner = w.pk
     )
     SELECT g.id, g.filter_type, g.logical_expression, g.filters, g.addition_ids, g.exclusion_ids, g.lost_references,
       (SELECT json_group_array(b.id) FROM device_groups__base_device_group_ids l JOIN device_groups b ON b.pk = l.target
        WHERE l.owner = g.pk) AS bases
     FROM wanted w JOIN device_groups g ON g.pk = w.pk`,
    JSON.stringify(ids.map((id) => id.toLowerCase())),
  );
  return new Map(lines.map((line) => [line.id, toGroupDefinition(line)]));
}

export function toGroupDefinition(line: GroupDefinitionRow): GroupDefinition {
  return parseGroupDefinition({
    filterType: line.filter_type,
    logicalExpression: line.logical_expression,
    filters: parseJsonColumn(line.filters),
    additionIds: parseJsonColumn(line.addition_ids),
    exclusionIds: parseJsonColumn(line.exclusion_ids),
    baseDeviceGroupIds: parseJsonColumn(line.bases),
    lostReferences: line.lost_references,
  });
}

/** The list or object that a column contains as JSON; null if it contains none. */
function parseJsonColumn(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

/** Which devices to read; defunct devices are excluded by default. */
export interface DeviceSelection {
  includeDefunct?: boolean;
  /** Rows per read; 200 by default. */
  limit?: number;
  /** Only devices up to this key. */
  upTo?: number;
}

/** All devices in key order; devices created or deleted during the scan may or may not be included. */
function* iterateDevices(reader: StoreReader, selection: DeviceSelection = {}): Generator<FilterableDevice, void> {
  for (let after = 0; ; ) {
    const lines = readDevices(reader, after, selection);
    for (const line of lines) yield toFilterableDevice(line);
    const last = lines.at(-1);
    if (!last || lines.length < ROWS_PER_READ) return;
    after = last.pk;
  }
}

/** Visits every device in time slices. */
export async function scanDevices(
  deps: GroupScanDeps,
  visit: (device: FilterableDevice) => void,
  selection: DeviceSelection = {},
): Promise<void> {
  const { reader, clock } = deps;
  const slice = createTimeSlice(clock, { sliceMs: TIME_SLICE_MS });
  for (const device of iterateDevices(reader, selection)) {
    // Checked per device: the patterns of one group may take ms.
    if (slice.isOver()) await slice.next();
    visit(device);
  }
}

/** The next devices after a key, in key order. */
export function readDevices(
  reader: StoreReader,
  after: number,
  { includeDefunct, limit = ROWS_PER_READ, upTo = Number.MAX_SAFE_INTEGER }: DeviceSelection,
): FilterDeviceRow[] {
  const living = includeDefunct ? "" : "AND defunct IS NOT 1";
  return reader.all<FilterDeviceRow>(
    `SELECT ${FILTER_DEVICE_COLUMNS} FROM devices
     WHERE pk > ? AND pk <= ? ${living} ORDER BY pk LIMIT ?`,
    ...[after, upTo, limit],
  );
}

/** A device as filters use it. */
export function toFilterableDevice(line: FilterDeviceRow): FilterableDevice {
  let attributes: Record<string, unknown> | null = null;
  return {
    pk: line.pk,
    icopId: line.icop_id ?? line.device_identifier,
    deviceIdentifier: line.device_identifier,
    description: line.description,
    type: line.type,
    // Parsed only on demand: filters decide most devices of a large site by name.
    get attributes() {
      attributes ??= line.attributes === null ? {} : (JSON.parse(line.attributes) as Record<string, unknown>);
      return attributes;
    },
  };
}

/** Compiles the groups with these ids; unknown groups have no members. */
export function compileStoredGroups(reader: StoreReader, ids: readonly string[]): CompiledGroup[] {
  const compiled = compileGroups(loadGroupDefinitions(reader, ids));
  return ids.flatMap((id) => compiled.get(id.toLowerCase()) ?? []);
}

/** Compiles a group that is not stored; base groups that the caller may not read have no members. Throws CallerError. */
export function compileAdHocGroup(
  { reader, sees }: { reader: StoreReader; sees(groupId: string): boolean },
  input: Readonly<Record<string, unknown>>,
): CompiledGroup {
  const group = parseGroupDefinition(input);
  const groups = loadGroupDefinitions(reader, group.baseDeviceGroupIds.filter(sees));
  const adHoc = "ad-hoc";
  groups.set(adHoc, { ...group, baseDeviceGroupIds: group.baseDeviceGroupIds.map((id) => id.toLowerCase()) });
  return compileGroups(groups).get(adHoc) as CompiledGroup;
}
