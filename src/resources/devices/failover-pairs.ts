import { integer, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Primary and backup appliance. @source docs/decisions/0042-api-contract.md, `/v1/failover-pairs` */
export default defineResource({
  name: "failover-pairs",
  doc: "Two appliances: the backup activates the devices of the primary that belong to no activation group while the primary does not. If an activation group lists exactly these two appliances, the timeout of the pair applies there too.",
  paths: [{ at: "failover-pairs" }],
  idParam: "failoverPairId",
  scope: "organisation",
  replicate: "B",
  unique: [["primaryEndpointId"]],
  fields: {
    name: text("Name of the pair.", { required: true, min: 1, max: 140 }),
    primaryEndpointId: ref("Primary appliance. An appliance is the primary of at most one pair.", "endpoints", {
      required: true,
      embed: "primaryEndpoint",
      onDelete: "cascade",
    }),
    backupEndpointId: ref("Backup appliance.", "endpoints", {
      required: true,
      embed: "backupEndpoint",
      onDelete: "cascade",
    }),
    timeout: integer(
      "Time that the backup waits for the primary when a message is sent: 1 to 300 seconds. More than 20 count as 20, because what sounds 30 seconds late is dropped.",
      { required: true, min: 1, max: 300, unit: "s" },
    ),
  },
});
