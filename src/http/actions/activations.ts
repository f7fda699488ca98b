import type { Activation } from "../../devices/activation-groups.ts";
import activationGroups from "../../resources/devices/activation-groups.ts";
import devices from "../../resources/devices/devices.ts";
import { boolean, computed, text, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

const ACTIVATION = {
  activationGroupId: uuid("The group that the device is in; null when none describes it."),
  activationGroupName: text("What people call the group.", { max: 140 }),
  endpointId: uuid("The appliance that would activate it; null when none can be reached."),
  endpointName: text("What people call the appliance."),
  reason: text("Why that one.", { required: true, max: 1_000 }),
  candidates: computed("The appliances that may activate it, in the order in which they are tried.", "array", {
    of: {
      endpointId: uuid("Its id.", { required: true }),
      endpointName: text("What people call it."),
      reachable: boolean("It could activate the device now.", { required: true }),
    },
  }),
} satisfies Record<keyof Activation, unknown>;

/** Which appliance activates a device. @source decisions.md 11; digest `/v1/devices/{deviceId}/activation-groups` */
export const activationActions: readonly Action[] = [
  {
    method: "get",
    at: "devices/{deviceId}/activation-groups",
    rowPath: { at: "activation-groups" },
    doc: "Lists the activation groups that describe a device, the one that it is in first.",
    response: { kind: "list", resource: activationGroups },
    async handle(request) {
      const { id } = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      return request.respondWithList(activationGroups, { ids: await request.needs.activations.groupsOf(id) });
    },
  },
  {
    // own choice: the path.
    method: "get",
    at: "devices/{deviceId}/activation",
    doc: "Which appliance would activate a device now, and why.",
    response: { kind: "members", fields: ACTIVATION },
    async handle(request) {
      const device = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      return jsonResponse(await request.needs.activations.activationOf(device));
    },
  },
];
