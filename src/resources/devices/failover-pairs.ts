import { integer, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Two appliances, of which one takes the other's place. @source digest `/v1/failover-pairs` */
export default defineResource({
  name: "failover-pairs",
  doc: "Two appliances: the second activates the devices that the first serves, and that no activation group describes, when the first does not. own choice: where an activation group names these two alone, its timeout counts there too.",
  paths: [{ at: "failover-pairs" }],
  idParam: "failoverPairId",
  scope: "organisation",
  replicate: "B",
  unique: [["primaryEndpointId"]],
  fields: {
    name: text("What people call the pair.", { required: true, min: 1, max: 140 }),
    primaryEndpointId: ref("The appliance that acts. own choice: it is the first of one pair only.", "endpoints", {
      required: true,
      embed: "primaryEndpoint",
      onDelete: "cascade",
    }),
    backupEndpointId: ref("The appliance that takes its place.", "endpoints", {
      required: true,
      embed: "backupEndpoint",
      onDelete: "cascade",
    }),
    timeout: integer(
      "How long the second waits for the first at the moment of a message. own choice: seconds, 1 to 20.",
      {
        required: true,
        min: 1,
        max: 20,
      },
    ),
  },
});
