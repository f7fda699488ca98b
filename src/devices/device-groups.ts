import { invalidValue } from "../base/errors.ts";
import { registrationOf } from "./device-behaviour.ts";
import type { DevicePredicate, FilterableDevice } from "./device-filter.ts";
import type { CompiledGroup } from "./group-definition.ts";
import {
  compileAdHocGroup,
  compileStoredGroups,
  type DeviceSelection,
  type GroupNeeds,
  scanDevices,
} from "./group-scan.ts";
import type { Memberships } from "./memberships.ts";

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
export interface QueryNeeds extends GroupNeeds {
  memberships: Pick<Memberships, "members">;
  sees(groupId: string): boolean;
}

/**
 * Internal keys of the devices that a query means, ascending; null when it restricts nothing. Conditions add up; each
 * member of `attributes` must equal the device's, and `more` must hold. Throws CallerError naming the parameter at fault.
 * @source service-api.md, /v1/devices
 */
export async function devicesMatching(
  needs: QueryNeeds,
  query: DeviceQuery,
  more: readonly DevicePredicate[] = [],
): Promise<number[] | null> {
  const tests = [...more, ...speakerTests(query)];
  if (isGiven(query.deviceGroupId)) {
    const group = storedGroup(needs, query.deviceGroupId);
    if (query.includeDefunct === true) tests.push(inGroup(group));
    else {
      const members = new Set(await needs.memberships.members([String(query.deviceGroupId)]));
      tests.push(({ pk }) => members.has(pk));
    }
  }
  if (isGiven(query.deviceGroup)) {
    tests.push(inGroup(compileAdHocGroup(needs, objectOf(query.deviceGroup, "deviceGroup"))));
  }
  if (isGiven(query.types)) {
    const types = new Set(texts(query.types, "types"));
    tests.push((device) => types.has(device.type));
  }
  if (isGiven(query.icopIds)) {
    const icopIds = new Set(texts(query.icopIds, "icopIds").map((id) => id.toLowerCase()));
    tests.push((device) => icopIds.has(device.icopId.toLowerCase()));
  }
  if (isGiven(query.attributes)) {
    const wanted = Object.entries(objectOf(query.attributes, "attributes")).map(
      ([name, value]) => [name, attributeText(value)] as const,
    );
    tests.push((device) => wanted.every(([name, text]) => attributeText(device.attributes[name]) === text));
  }
  if (isGiven(query.name)) {
    // own choice: devices have no field of that name; what people call one is its description or its attribute Name.
    tests.push((device) => device.description === query.name || device.attributes.Name === query.name);
  }
  if (tests.length === 0) return null;
  const selection = { includeDefunct: query.includeDefunct === true };
  return matching(needs, (device) => tests.every((test) => test(device)), selection);
}

function speakerTests(query: DeviceQuery): DevicePredicate[] {
  const tests: DevicePredicate[] = [];
  if (query.includeNonConfiguredSpeakers === false) {
    tests.push(({ attributes }) => attributeText(attributes.IsConfigured).toLowerCase() !== "false");
  }
  if (query.includeUnregisteredSpeakers === false) {
    tests.push(({ attributes }) => registrationOf(attributes) !== false);
  }
  return tests.map((test) => (device) => device.type !== "speakers" || test(device));
}

async function matching(needs: GroupNeeds, test: DevicePredicate, selection: DeviceSelection = {}): Promise<number[]> {
  const pks: number[] = [];
  const visit = (device: FilterableDevice): void => {
    if (test(device)) pks.push(device.pk);
  };
  await scanDevices(needs, visit, selection);
  return pks;
}

function inGroup(group: CompiledGroup): DevicePredicate {
  return (device) => group.contains(device);
}

function storedGroup(needs: QueryNeeds, id: unknown): CompiledGroup {
  const group = typeof id === "string" && needs.sees(id) ? compileStoredGroups(needs.reader, [id])[0] : undefined;
  if (!group) throw invalidValue("deviceGroupId", "There is none with this id.");
  return group;
}

/** Whether a parameter is there and not empty. */
export function isGiven(value: unknown): boolean {
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

/** The object that a parameter is, or holds as JSON. Throws CallerError for `field`. */
export function objectOf(value: unknown, field: string): Record<string, unknown> {
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
