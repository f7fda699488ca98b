import { sentence } from "../../lib/sentences/sentences.ts";
import { boolean, computed, ref, secret, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const JTAPI_NOTE = "Stored for CTI activation (JTAPI), which Carillon does not support.";
const UNSUPPORTED = sentence("warning.no-jtapi");

/**
 * Settings of an appliance for a cluster.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0042-api-contract.md,
 * `/v1/callmgr-clusters/{cucmClusterId}/onprem-servers`
 */
export default defineResource({
  name: "callmgr-onprem-servers",
  doc: "Settings of one appliance for the phones of a cluster.",
  paths: [{ at: "callmgr-clusters/{cucmClusterId}/onprem-servers" }],
  idParam: "onpremServerId",
  scope: "organisation",
  replicate: "B",
  fields: {
    cucmClusterId: ref("The cluster.", "callmgr-clusters", { required: true, createOnly: true, onDelete: "cascade" }),
    endpointId: ref("The appliance.", "endpoints", { required: true, embed: "endpoint", onDelete: "cascade" }),
    cmAddress: text("Call managers, comma-separated, in the order in which they are tried.", {
      required: true,
      min: 1,
    }),
    cmUsername: text(`CTI user. ${JTAPI_NOTE}`, { required: true, min: 1 }),
    cmPassword: secret("Password of the CTI user.", { max: 64, boundTo: ["cmAddress", "cmUsername"] }),
    jtapiPhoneActivationEnabled: boolean(
      `Phones are activated over CTI instead of HTTP. ${JTAPI_NOTE} Phones are still activated over HTTP, and an activity records this.`,
      { default: false, unsupported: UNSUPPORTED },
    ),
    jtapiStaticTerminalsEnabled: boolean(`CTI connections to as many phones as possible. ${JTAPI_NOTE}`, {
      default: false,
      unsupported: UNSUPPORTED,
    }),
    makeCtiConnection: boolean(`CTI connections are opened in advance. ${JTAPI_NOTE}`, {
      default: false,
      unsupported: UNSUPPORTED,
    }),
    allowRestartForJtapiUpdate: boolean(`CTI may restart for an update. ${JTAPI_NOTE}`, {
      default: false,
      unsupported: UNSUPPORTED,
    }),
    syncId: computed("Replication marker; equal on both sides once the row has been replicated.", "text", {
      nullable: true,
    }),
    isPhoneGatherer: boolean("This appliance queries the cluster for phones; one appliance per cluster does.", {
      readOnly: true,
      default: false,
    }),
  },
});
