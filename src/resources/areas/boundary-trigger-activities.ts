import { option, ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Activity log of boundary triggers. @source docs/decisions/0042-api-contract.md */
export default defineResource({
  name: "boundary-trigger-activities",
  doc: "An action of a boundary trigger.",
  paths: [
    { at: "areas-of-interest/{areaOfInterestId}/boundary-triggers/{boundaryTriggerId}/activities", methods: ["get"] },
  ],
  idParam: "activityId",
  scope: "organisation",
  replicate: "D",
  fields: {
    areaOfInterestId: ref("Area whose boundary was crossed.", "areas-of-interest", {
      readOnly: true,
      onDelete: "cascade",
    }),
    boundaryTriggerId: ref("Trigger that fired.", "boundary-triggers", {
      readOnly: true,
      onDelete: "cascade",
    }),
    reason: option("Crossing that fired the trigger.", ["entered", "exited"], { readOnly: true }),
    status: option("Whether there were recipients.", ["success", "no-recipients"], {
      readOnly: true,
    }),
    deviceId: ref("Device that crossed the boundary.", "user-devices", { readOnly: true, embed: "device" }),
    userId: ref("Owner of the device.", "users", { readOnly: true, embed: "user" }),
    notificationId: ref("The notification.", "notifications", { readOnly: true }),
  },
});
