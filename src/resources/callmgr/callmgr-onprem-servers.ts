import { boolean, ref, secret, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const JTAPI = "Kept for CTI activation (JTAPI), which Carillon does not have.";

/**
 * Settings of an appliance for a cluster.
 * @source service-api.md, /v1/callmgr-clusters/{cucmClusterId}/onprem-servers; decisions.md 12; digest
 */
export default defineResource({
  name: "callmgr-onprem-servers",
  doc: "How one appliance serves the phones of a cluster.",
  paths: [{ at: "callmgr-clusters/{cucmClusterId}/onprem-servers" }],
  idParam: "onpremServerId",
  scope: "organisation",
  replicate: "B",
  fields: {
    cucmClusterId: ref("The cluster.", "callmgr-clusters", { required: true, createOnly: true, onDelete: "cascade" }),
    endpointId: ref("The appliance.", "endpoints", { required: true, embed: "endpoint", onDelete: "cascade" }),
    cmAddress: text("Call managers, separated by commas, in the order in which they are tried.", {
      required: true,
      min: 1,
    }),
    cmUsername: text(`User of CTI. ${JTAPI}`, { required: true, min: 1 }),
    cmPassword: secret("Password of that user.", { max: 64 }),
    jtapiPhoneActivationEnabled: boolean(
      `Phones are activated over CTI instead of HTTP. ${JTAPI} Phones are activated over HTTP all the same, and an activity says so.`,
      { default: false },
    ),
    jtapiStaticTerminalsEnabled: boolean(`CTI connections to as many phones as possible. ${JTAPI}`, { default: false }),
    makeCtiConnection: boolean(`CTI connections are made ahead of time. ${JTAPI}`, { default: false }),
    allowRestartForJtapiUpdate: boolean(`CTI may restart to be brought up to date. ${JTAPI}`, { default: false }),
    syncId: text("Id of the record in the appliance's database.", { readOnly: true }),
    isPhoneGatherer: boolean("It asks the cluster for its phones; one appliance of a cluster does.", {
      readOnly: true,
      default: false,
    }),
  },
});
