import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { DevicePredicate, FilterableDevice } from "./device-filter.ts";
import { isDeviceRegistered } from "./device-hooks.ts";
import type { CompiledGroup } from "./group-definition.ts";
import type { GroupMemberships } from "./group-memberships.ts";
import {
  compileAdHocGroup,
  compileStoredGroups,
  type DeviceSelection,
  type GroupScanDeps,
  scanDevices,
} from "./group-scan.ts";

/** Filters of a device list, as query parameters or JSON; texts that contain JSON are parsed. */
export interface DeviceQuery {
  deviceGroupId?: unknown;
  deviceGroup?: unknown;
  types?: unknown;
  icopIds?: unknown;
  attributes?: unknown;
  name?: unknown;
  /** True includes defunct devices, with the groups that they would be in. */
  includeDefunct?: unknown;
  /** False omits speakers whose attribute IsConfigured says that they are not configured yet. */
  includeNonConfiguredSpeakers?: unknown;
  /** False omits speakers that are known to be unregistered. */
  includeUnregisteredSpeakers?: unknown;
}

/** `sees` returns true if the caller may read a group. */
export interface DeviceQueryDeps extends GroupScanDeps {
  memberships: Pick<GroupMemberships, "members">;
  sees(groupId: string): boolean;
}

/**
 * Internal keys of the devices that match a query, ascending; null if it has no filter. Filters are combined with AND; each
 * member of `attributes` must equal the attribute of the device, and `more` must match. Throws CallerError that names the
 * invalid parameter. @source docs/decisions/0042-api-contract.md
 */
export async function findDevices(
  deps: DeviceQueryDeps,
  query: DeviceQuery,
  more: readonly DevicePredicate[] = [],
): Promise<number[] | null> {
  const tests = [...more, ...speakerPredicates(query)];
  if (isParameterGiven(query.deviceGroupId)) {
    const group = storedGroup(deps, query.deviceGroupId);
    if (query.includeDefunct === true) tests.push(isInGroup(group));
    else {
      const members = new Set(await deps.memberships.members([String(query.deviceGroupId)]));
      tests.push(({ pk }) => members.has(pk));
    }
  }
  if (isParameterGiven(query.deviceGroup)) {
    tests.push(isInGroup(compileAdHocGroup(deps, parseObjectParameter(query.deviceGroup, "deviceGroup"))));
  }
  if (isParameterGiven(query.types)) {
    const types = new Set(parseTexts(query.types, "types"));
    tests.push((device) => types.has(device.type));
  }
  if (isParameterGiven(query.icopIds)) {
    const icopIds = new Set(parseTexts(query.icopIds, "icopIds").map((id) => id.toLowerCase()));
    tests.push((device) => icopIds.has(device.icopId.toLowerCase()));
  }
  if (isParameterGiven(query.attributes)) {
    const wanted = Object.entries(parseObjectParameter(query.attributes, "attributes")).map(
      ([name, value]) => [name, attributeText(value)] as const,
    );
    tests.push((device) => wanted.every(([name, text]) => attributeText(device.attributes[name]) === text));
  }
  if (isParameterGiven(query.name)) {
    // Devices have no `name` field: match the description or the attribute Name. @source docs/decisions/0201-device-groups-and-filters.md, Device queries
    tests.push((device) => device.description === query.name || device.attributes.Name === query.name);
  }
  if (tests.length === 0) return null;
  const selection = { includeDefunct: query.includeDefunct === true };
  return scanMatching(deps, (device) => tests.every((test) => test(device)), selection);
}

function speakerPredicates(query: DeviceQuery): DevicePredicate[] {
  const tests: DevicePredicate[] = [];
  if (query.includeNonConfiguredSpeakers === false) {
    tests.push(({ attributes }) => attributeText(attributes.IsConfigured).toLowerCase() !== "false");
  }
  if (query.includeUnregisteredSpeakers === false) {
    tests.push(({ attributes }) => isDeviceRegistered(attributes) !== false);
  }
  return tests.map((test) => (device) => device.type !== "speakers" || test(device));
}

async function scanMatching(
  deps: GroupScanDeps,
  test: DevicePredicate,
  selection: DeviceSelection = {},
): Promise<number[]> {
  const pks: number[] = [];
  const visit = (device: FilterableDevice): void => {
    if (test(device)) pks.push(device.pk);
  };
  await scanDevices(deps, visit, selection);
  return pks;
}

function isInGroup(group: CompiledGroup): DevicePredicate {
  return (device) => group.contains(device);
}

function storedGroup(deps: DeviceQueryDeps, id: unknown): CompiledGroup {
  const group = typeof id === "string" && deps.sees(id) ? compileStoredGroups(deps.reader, [id])[0] : undefined;
  if (!group) throw invalidValue("deviceGroupId", sentence("field.no-device-group-with-this-id-was-found"));
  return group;
}

/** True if a parameter is present and not empty. */
export function isParameterGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function parseJsonText(value: unknown, field: string): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    throw invalidValue(field, sentence("field.must-be-valid-json"));
  }
}

/** An attribute as text, lists and objects included. */
function attributeText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The object that a parameter is or contains as JSON. Throws CallerError for `field`. */
export function parseObjectParameter(value: unknown, field: string): Record<string, unknown> {
  const read = parseJsonText(value, field);
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw invalidValue(field, sentence("field.must-be-an-object"));
  return read as Record<string, unknown>;
}

function parseTexts(value: unknown, field: string): string[] {
  const read = parseJsonText(value, field);
  const list = Array.isArray(read) ? read : [read];
  if (!list.every((item) => typeof item === "string"))
    throw invalidValue(field, sentence("field.must-be-a-list-of-strings"));
  return list;
}
