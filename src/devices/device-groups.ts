import { invalidValue } from "../base/errors.ts";
import type { FilterableDevice } from "./device-filter.ts";
import { type CompiledGroup, compileGroups } from "./group-definition.ts";
import {
  compileAdHocGroup,
  compileStoredGroups,
  type DeviceLine,
  type DeviceSelection,
  deviceOf,
  type GroupNeeds,
  loadGroups,
  scanDevices,
} from "./group-scan.ts";

/**
 * Internal keys of the distinct devices that are in at least one of the groups, ascending; defunct ones are left out.
 * Takes its time in slices, so it may be asked for any number of devices.
 */
export async function groupMembers(needs: GroupNeeds, groupIds: readonly string[]): Promise<number[]> {
  const groups = compileStoredGroups(needs.reader, groupIds);
  if (groups.length === 0) return [];
  return matching(needs, (device) => groups.some((group) => group.contains(device)));
}

const GROUPS_AT_ONCE = 50;

/** Ids of the groups that a device is in, in slices; empty for an unknown one, and for one that is defunct. */
export async function groupsOfDevice({ reader, clock }: GroupNeeds, deviceId: string): Promise<string[]> {
  const line = reader.one<DeviceLine>(
    `SELECT pk, icop_id, device_identifier, description, type, attributes FROM devices
     WHERE id = ? AND defunct IS NOT 1`,
    deviceId,
  );
  if (!line) return [];
  const device = deviceOf(line);
  const ids = reader.all<{ id: string }>("SELECT id FROM device_groups").map(({ id }) => id);
  const found: string[] = [];
  for (let at = 0; at < ids.length; at += GROUPS_AT_ONCE) {
    const groups = compileGroups(loadGroups(reader, ids.slice(at, at + GROUPS_AT_ONCE)));
    for (const id of ids.slice(at, at + GROUPS_AT_ONCE)) if (groups.get(id)?.contains(device)) found.push(id);
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return found;
}

/** What a list of devices may be restricted by, as query parameters or JSON; texts that hold JSON are read. */
export interface DeviceQuery {
  deviceGroupId?: unknown;
  deviceGroup?: unknown;
  types?: unknown;
  icopIds?: unknown;
  attributes?: unknown;
  name?: unknown;
  /** True shows defunct devices too, in whatever group they would be. */
  includeDefunct?: unknown;
}

/** What a query needs; `sees` says whether the asker may know of a group. */
export interface QueryNeeds extends GroupNeeds {
  sees(groupId: string): boolean;
}

/**
 * Internal keys of the devices that a query means, ascending; null when it restricts nothing. Conditions add up; each
 * member of `attributes` must equal the device's. Throws CallerError naming the parameter at fault.
 * @source service-api.md, /v1/devices
 */
export async function devicesMatching(needs: QueryNeeds, query: DeviceQuery): Promise<number[] | null> {
  const tests: ((device: FilterableDevice) => boolean)[] = [];
  if (given(query.deviceGroupId)) tests.push(inGroup(storedGroup(needs, query.deviceGroupId)));
  if (given(query.deviceGroup)) {
    tests.push(inGroup(compileAdHocGroup(needs, record(query.deviceGroup, "deviceGroup"))));
  }
  if (given(query.types)) {
    const types = new Set(texts(query.types, "types"));
    tests.push((device) => types.has(device.type));
  }
  if (given(query.icopIds)) {
    const icopIds = new Set(texts(query.icopIds, "icopIds").map((id) => id.toLowerCase()));
    tests.push((device) => icopIds.has(device.icopId.toLowerCase()));
  }
  if (given(query.attributes)) {
    const wanted = Object.entries(record(query.attributes, "attributes")).map(
      ([name, value]) => [name, attributeText(value)] as const,
    );
    tests.push((device) => wanted.every(([name, text]) => attributeText(device.attributes[name]) === text));
  }
  if (given(query.name)) {
    // own choice: devices have no field of that name; what people call one is its description or its attribute Name.
    tests.push((device) => device.description === query.name || device.attributes.Name === query.name);
  }
  if (tests.length === 0) return null;
  const selection = { includeDefunct: query.includeDefunct === true };
  return matching(needs, (device) => tests.every((test) => test(device)), selection);
}

async function matching(
  needs: GroupNeeds,
  test: (device: FilterableDevice) => boolean,
  selection: DeviceSelection = {},
): Promise<number[]> {
  const pks: number[] = [];
  const visit = (device: FilterableDevice): void => {
    if (test(device)) pks.push(device.pk);
  };
  await scanDevices(needs, visit, selection);
  return pks;
}

function inGroup(group: CompiledGroup): (device: FilterableDevice) => boolean {
  return (device) => group.contains(device);
}

function storedGroup(needs: QueryNeeds, id: unknown): CompiledGroup {
  const group = typeof id === "string" && needs.sees(id) ? compileStoredGroups(needs.reader, [id])[0] : undefined;
  if (!group) throw invalidValue("deviceGroupId", "There is none with this id.");
  return group;
}

function given(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function fromText(value: unknown, field: string): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    throw invalidValue(field, "It is no JSON.");
  }
}

/** An attribute as text, lists and objects included, whatever members they have. */
function attributeText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function record(value: unknown, field: string): Record<string, unknown> {
  const read = fromText(value, field);
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw invalidValue(field, "An object is expected.");
  return read as Record<string, unknown>;
}

function texts(value: unknown, field: string): string[] {
  const read = fromText(value, field);
  const list = Array.isArray(read) ? read : [read];
  if (!list.every((item) => typeof item === "string")) throw invalidValue(field, "A list of texts is expected.");
  return list;
}
