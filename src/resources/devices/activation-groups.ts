import { boolean, computed, integer, many, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXPLICIT_MEMBER_FIELDS, GROUP_RULE_FIELDS, MEMBER_COUNT_FIELDS } from "./device-group-fields.ts";

/**
 * Which appliance activates which devices.
 * @source docs/decisions/0011-device-groups.md; docs/decisions/0042-api-contract.md, `/v1/activation-groups`
 */
export default defineResource({
  name: "activation-groups",
  doc: "Devices, selected by filters, that the first reachable appliance of a list activates. A device belongs to one group.",
  paths: [{ at: "activation-groups" }],
  idParam: "activationGroupId",
  scope: "organisation",
  replicate: "B",
  limit: { most: 200 },
  sort: "priority",
  fields: {
    name: text("Name of the group.", { required: true, min: 1, max: 140 }),
    endpointIds: many("Appliances that may activate the devices; the first reachable one does.", "endpoints", {
      required: true,
      maxItems: 100,
    }),
    priority: integer(
      "A device selected by several groups belongs to the one with the lowest priority; among equal priorities, to the oldest.",
      { required: true },
    ),
    ...GROUP_RULE_FIELDS,
    ...EXPLICIT_MEMBER_FIELDS,
    endpoints: computed("The appliances named by endpointIds.", "array", {
      of: {
        id: uuid("Its id.", { required: true }),
        name: text("Name of the appliance."),
        reachable: boolean("The appliance can activate devices now.", { required: true }),
      },
    }),
    ...MEMBER_COUNT_FIELDS,
  },
});
