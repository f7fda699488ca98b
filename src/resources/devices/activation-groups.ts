import { boolean, computed, integer, json, list, many, option, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { NAMED_DEVICE } from "./device-groups.ts";

/**
 * Which appliance activates which devices.
 * @source service-api.md, /v1/activation-groups and Limits; decisions.md 11; digest `/v1/activation-groups`
 */
export default defineResource({
  name: "activation-groups",
  doc: "Devices, described by filters, that the first reachable of some appliances activates; a device is in one group.",
  paths: [{ at: "activation-groups" }],
  idParam: "activationGroupId",
  scope: "organisation",
  replicate: "B",
  limit: { most: 200 },
  sort: "priority",
  fields: {
    name: text("What people call the group.", { required: true, min: 1, max: 140 }),
    endpointIds: many("Appliances that may activate its devices, the first reachable one does.", "endpoints", {
      required: true,
      maxItems: 100,
    }),
    priority: integer(
      "A device that several groups describe is in the one with the lowest number. own choice: among equal numbers in the oldest.",
      { required: true },
    ),
    filterType: option(
      "How the filters combine; ACCEPT takes every device, REJECT none. own choice: OR when not given.",
      ["OR", "AND", "ACCEPT", "REJECT", "LOGICAL_EXPRESSION"],
      { default: "OR" },
    ),
    logicalExpression: text(
      "Combination of 1-based filter numbers for LOGICAL_EXPRESSION, such as `(1 AND 2) OR NOT 3`. own choice: at most 4000 characters.",
      { max: 4_000 },
    ),
    filters: json("At most 200 objects `{attribute, comparison, value, complement, caseSensitive}`.", {
      maxBytes: 262_144,
      default: [],
    }),
    additionIds: list("icopIds of devices that belong to the group in any case.", text("An icopId."), {
      maxItems: 20_000,
      default: [],
    }),
    exclusionIds: list("icopIds of devices that never belong to the group.", text("An icopId."), {
      maxItems: 20_000,
      default: [],
    }),
    additions: computed("The devices named by additionIds.", "array", { of: NAMED_DEVICE }),
    exclusions: computed("The devices named by exclusionIds.", "array", { of: NAMED_DEVICE }),
    endpoints: computed("The appliances named by endpointIds.", "array", {
      of: {
        id: uuid("Its id.", { required: true }),
        name: text("What people call it."),
        reachable: boolean("own choice: it could activate devices now.", { required: true }),
      },
    }),
    numPhones: computed("Phones that are in it; given with includeDeviceCounts.", "integer", {
      when: "includeDeviceCounts",
    }),
    numSpeakers: computed("Speakers that are in it; given with includeDeviceCounts.", "integer", {
      when: "includeDeviceCounts",
    }),
    numIdns: computed("Desktop notifiers that are in it; given with includeDeviceCounts.", "integer", {
      when: "includeDeviceCounts",
    }),
    numPlugins: computed("Devices of plugins that are in it; given with includeDeviceCounts.", "integer", {
      when: "includeDeviceCounts",
    }),
  },
});
