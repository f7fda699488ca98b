import { boolean, many, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOST_REFERENCES, lostReferencesField } from "../lost-references.ts";
import { EXPLICIT_MEMBER_FIELDS, GROUP_RULE_FIELDS, MEMBER_COUNT_FIELDS } from "./device-group-fields.ts";

/**
 * Device groups by rule. Members = (filters over the devices of the base groups, or over all devices without base
 * groups) + additions - exclusions.
 * @source docs/decisions/0011-device-groups.md; docs/decisions/0042-api-contract.md, `/v1/device-groups`
 */
export default defineResource({
  name: "device-groups",
  doc: "A set of devices selected by filters over their attributes, with explicit additions and exclusions.",
  paths: [{ at: "device-groups" }],
  idParam: "deviceGroupId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("Name of the group.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Visible in the domains below the group's domain.", { default: false }),
    ...GROUP_RULE_FIELDS,
    baseDeviceGroupIds: many("Groups whose devices are filtered; at most 200.", "device-groups", {
      embed: "baseDeviceGroups",
      dependents: "base-device-group",
      maxItems: 200,
      lostIn: LOST_REFERENCES,
    }),
    [LOST_REFERENCES]: lostReferencesField("the filters select no device, instead of any device"),
    ...EXPLICIT_MEMBER_FIELDS,
    ...MEMBER_COUNT_FIELDS,
  },
});
