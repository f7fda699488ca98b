import type { Activation } from "../../devices/activation-groups.ts";
import activationGroups from "../../resources/devices/activation-groups.ts";
import devices from "../../resources/devices/devices.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, type Field, text, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { addSentences } from "../sentence-members.ts";

const ACTIVATION = {
  activationGroupId: uuid("Activation group of the device; null if it is in none."),
  activationGroupName: text("Name of the group.", { max: 140 }),
  endpointId: uuid("Appliance that would activate the device; null if none is reachable."),
  endpointName: text("Name of the appliance."),
  reason: text("Reason for the selection.", { required: true, max: 1_000 }),
  reasonSentence: sentenceField("Reason", "reason"),
  candidates: computed("Appliances that may activate the device, in the order in which they are tried.", "array", {
    of: {
      endpointId: uuid("Id.", { required: true }),
      endpointName: text("Name of the appliance."),
      reachable: boolean("The appliance can activate the device now.", { required: true }),
    },
  }),
} satisfies Record<keyof Activation | "reasonSentence", Field>;

/**
 * Activation groups and the active appliance of a device.
 * @source docs/decisions/0011-device-groups.md; docs/decisions/0042-api-contract.md,
 * `/v1/devices/{deviceId}/activation-groups`
 */
export const activationActions: readonly Action[] = [
  {
    method: "get",
    at: "devices/{deviceId}/activation-groups",
    rowPath: { at: "activation-groups" },
    doc: "Lists the activation groups that match a device; the one it belongs to comes first.",
    response: { kind: "list", resource: activationGroups },
    async handle(request) {
      const { id } = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      return request.respondWithList(activationGroups, { ids: await request.deps.activations.groupsOf(id) });
    },
  },
  {
    method: "get",
    at: "devices/{deviceId}/activation",
    doc: "Returns the appliance that would activate a device now, and the reason.",
    response: { kind: "members", fields: ACTIVATION },
    async handle(request) {
      const device = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      const activation = await request.deps.activations.activationOf(device);
      return jsonResponse(addSentences(ACTIVATION, activation, request.deps.plugins.sentences));
    },
  },
];
