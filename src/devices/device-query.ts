import { invalidValue } from "../lib/errors.ts";
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
  /** False leaves out speakers whose attribute IsConfigured says that they are not set up yet. */
  includeNonConfiguredSpeakers?: unknown;
  /** False leaves out speakers that are known not to be registered. */
  includeUnregisteredSpeakers?: unknown;
}

/** What a query needs; `sees` says whether the asker may know of a group. */
export interface DeviceQueryDeps extends GroupScanDeps {
  memberships: Pick<GroupMemberships, "members">;
  sees(groupId: string): boolean;
}

/**
 * Internal keys of the devices that a query means, ascending; null when it restricts nothing. Conditions add up; each
 * member of `attributes` must equal the device's, and `more` must hold. Throws CallerError naming the parameter at fault.
 * @source service-api.md, /v1/devices
 */
export async function findDevices(
  needs: DeviceQueryDeps,
  query: DeviceQuery,
  more: readonly DevicePredicate[] = [],
): Promise<number[] | null> {
  const tests = [...more, ...speakerPredicates(query)];
  if (isParameterGiven(query.deviceGroupId)) {
    const group = storedGroup(needs, query.deviceGroupId);
    if (query.includeDefunct === true) tests.push(isInGroup(group));
    else {
      const members = new Set(await needs.memberships.members([String(query.deviceGroupId)]));
      tests.push(({ pk }) => members.has(pk));
    }
  }
  if (isParameterGiven(query.deviceGroup)) {
    tests.push(isInGroup(compileAdHocGroup(needs, parseObjectParameter(query.deviceGroup, "deviceGroup"))));
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
    // own choice: devices have no field of that name; what people call one is its description or its attribute Name.
    tests.push((device) => device.description === query.name || device.attributes.Name === query.name);
  }
  if (tests.length === 0) return null;
  const selection = { includeDefunct: query.includeDefunct === true };
  return scanMatching(needs, (device) => tests.every((test) => test(device)), selection);
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
  needs: GroupScanDeps,
  test: DevicePredicate,
  selection: DeviceSelection = {},
): Promise<number[]> {
  const pks: number[] = [];
  const visit = (device: FilterableDevice): void => {
    if (test(device)) pks.push(device.pk);
  };
  await scanDevices(needs, visit, selection);
  return pks;
}

function isInGroup(group: CompiledGroup): DevicePredicate {
  return (device) => group.contains(device);
}

function storedGroup(needs: DeviceQueryDeps, id: unknown): CompiledGroup {
  const group = typeof id === "string" && needs.sees(id) ? compileStoredGroups(needs.reader, [id])[0] : undefined;
  if (!group) throw invalidValue("deviceGroupId", "There is none with this id.");
  return group;
}

/** Whether a parameter is there and not empty. */
export function isParameterGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function parseJsonText(value: unknown, field: string): unknown {
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

/** The object that a parameter is, or holds as JSON. Throws CallerError for `field`. */
export function parseObjectParameter(value: unknown, field: string): Record<string, unknown> {
  const read = parseJsonText(value, field);
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw invalidValue(field, "An object is expected.");
  return read as Record<string, unknown>;
}

function parseTexts(value: unknown, field: string): string[] {
  const read = parseJsonText(value, field);
  const list = Array.isArray(read) ? read : [read];
  if (!list.every((item) => typeof item === "string")) throw invalidValue(field, "A list of texts is expected.");
  return list;
}
