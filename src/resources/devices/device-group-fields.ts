import { boolean, computed, json, list, option, text, uuid } from "../../schema/field.ts";

/** Representation of a device in group members. */
const NAMED_DEVICE = {
  id: uuid("Id.", { required: true }),
  icopId: text("Id by which groups reference it.", { required: true }),
  deviceIdentifier: text("Identifier of the device.", { required: true, max: 4_096 }),
  description: text("Description.", { required: true }),
  type: text("Device type.", { required: true }),
  endpointId: uuid("Appliance that serves it.", { required: true }),
  attributes: computed("Attributes by name.", "object", { of: text("Value.", { max: 100_000 }) }),
  defunct: boolean("The device no longer exists.", { required: true }),
  isLicensed: boolean("The device counts against the licence.", { required: true }),
};

/**
 * Selection rule of device groups.
 * @source docs/decisions/0011-device-groups.md; docs/decisions/0042-api-contract.md, `/v1/device-groups`,
 * `/v1/activation-groups`
 */
export const GROUP_RULE_FIELDS = {
  filterType: option(
    "How the filters are combined; ACCEPT selects every device, REJECT none. Default: OR.",
    ["OR", "AND", "ACCEPT", "REJECT", "LOGICAL_EXPRESSION"],
    { default: "OR" },
  ),
  logicalExpression: text(
    "Expression over filter numbers for LOGICAL_EXPRESSION, such as `(1 AND 2) OR NOT 3`. Filters are numbered from 1, or from 0 if the expression contains 0. At most 4000 characters.",
    { max: 4_000 },
  ),
  filters: json("At most 200 objects `{attribute, comparison, value, complement, caseSensitive}`.", {
    maxBytes: 262_144,
    default: [],
  }),
};

/** True if a device group contains every existing and future device, regardless of its filters. */
export function includesAllDevices(group: {
  filterType: string;
  baseDeviceGroupIds: readonly string[];
  exclusionIds: readonly string[];
  lostReferences?: number;
}): boolean {
  const { filterType, baseDeviceGroupIds, exclusionIds, lostReferences = 0 } = group;
  const isUnlimited = baseDeviceGroupIds.length === 0 && lostReferences === 0;
  return filterType === "ACCEPT" && isUnlimited && exclusionIds.length === 0;
}

/** Explicit additions and exclusions, regardless of the filters. */
export const EXPLICIT_MEMBER_FIELDS = {
  additionIds: list("icopIds of devices that always belong to the group.", text("An icopId."), {
    maxItems: 20_000,
    default: [],
  }),
  exclusionIds: list("icopIds of devices that never belong to the group.", text("An icopId."), {
    maxItems: 20_000,
    default: [],
  }),
  additions: computed("The devices named by additionIds.", "array", { of: NAMED_DEVICE }),
  exclusions: computed("The devices named by exclusionIds.", "array", { of: NAMED_DEVICE }),
};

/** Member counts, on request. */
export const MEMBER_COUNT_FIELDS = {
  numPhones: computed("Member phones; returned with includeDeviceCounts.", "integer", { when: "includeDeviceCounts" }),
  numSpeakers: computed("Member speakers; returned with includeDeviceCounts.", "integer", {
    when: "includeDeviceCounts",
  }),
  numIdns: computed("Member desktop notifiers; returned with includeDeviceCounts.", "integer", {
    when: "includeDeviceCounts",
  }),
  numPlugins: computed("Member devices of plugins; returned with includeDeviceCounts.", "integer", {
    when: "includeDeviceCounts",
  }),
};
