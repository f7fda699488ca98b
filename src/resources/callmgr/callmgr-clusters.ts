import { boolean, computed, integer, option, secret, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const port = (doc: string) => integer(doc, { min: 1, max: 65_535 });

/**
 * Clusters of call managers, whose phones appear by themselves.
 * @source service-api.md, /v1/callmgr-clusters; decisions.md 12 and 13; digest `/v1/callmgr-clusters`
 */
export default defineResource({
  name: "callmgr-clusters",
  doc: "A cluster of call managers: where its database and its phones are asked.",
  paths: [{ at: "callmgr-clusters" }],
  idParam: "cucmClusterId",
  scope: "organisation",
  replicate: "B",
  fields: {
    name: text("What people call the cluster.", { required: true, min: 1 }),
    snmpVersion: option(
      "How its nodes are asked which phones are registered: 2 needs snmpCommunity; 3 needs snmpUsername, snmpAuthPassword and snmpEncryptPassword.",
      ["2", "3"],
      { required: true },
    ),
    axlAddress: text("Host whose administration interface (AXL) is asked; own choice: it may name a port, else 8443.", {
      required: true,
      min: 1,
    }),
    axlUser: text("Who asks.", { required: true, min: 1, max: 20 }),
    axlPassword: secret("Password of the user.", { max: 64 }),
    axlFingerprint: text(
      "own choice: SHA-256 of the certificate that the host must show, as hex with or without colons; without it the certificate must be signed by an authority that the appliance trusts.",
      { min: 64, max: 95, search: false },
    ),
    axlId: text("Id of the cluster in its own database.", { readOnly: true }),
    nextAuthenticationUrl: text("Who decides about pushes to phones that are not Carillon's.", { format: "url" }),
    snmpCommunity: secret("Community of SNMP version 2.", { max: 20 }),
    snmpUsername: text("User of SNMP version 3.", { max: 32 }),
    snmpAuthPassword: secret("Password by which that user is known.", { max: 255 }),
    snmpEncryptPassword: secret("Password of the encryption.", { max: 255 }),
    secureConnection: boolean("CTI connections use TLS.", { default: false }),
    capfAddress: text("Host that hands out certificates."),
    capfPort: port("Its port."),
    tftpAddress: text("Host that hands out files."),
    tftpPort: port("Its port."),
    callmgrClusterOnpremServers: computed("Appliances that serve its phones.", "array", {
      of: {
        callmgrClusterOnpremServerId: uuid("Id of the appliance's settings for the cluster.", { required: true }),
        endpointId: uuid("The appliance.", { required: true }),
        endpointName: text("What people call it."),
        isPhoneGatherer: boolean("It asks the cluster for its phones.", { required: true }),
        makeCtiConnection: boolean("It connects to CTI ahead of time.", { required: true }),
      },
    }),
  },
});
