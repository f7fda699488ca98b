import { boolean, computed, integer, option, secret, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const port = (doc: string) => integer(doc, { min: 1, max: 65_535 });

/**
 * Call manager clusters, whose phones are discovered automatically.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0013-other-resources.md;
 * docs/decisions/0042-api-contract.md, `/v1/callmgr-clusters`
 */
export default defineResource({
  name: "callmgr-clusters",
  doc: "A call manager cluster: how its database and its phones are queried.",
  paths: [{ at: "callmgr-clusters" }],
  idParam: "cucmClusterId",
  scope: "organisation",
  replicate: "B",
  fields: {
    name: text("Name of the cluster.", { required: true, min: 1 }),
    snmpVersion: option(
      "SNMP version used to query registered phones: 2 needs snmpCommunity; 3 needs snmpUsername, snmpAuthPassword and snmpEncryptPassword.",
      ["2", "3"],
      { required: true },
    ),
    axlAddress: text("Host of the administration interface (AXL), optionally with a port; default port: 8443.", {
      required: true,
      min: 1,
    }),
    axlUser: text("User of the administration interface.", { required: true, min: 1, max: 20 }),
    axlPassword: secret("Password of the AXL user.", {
      max: 64,
      boundTo: ["axlAddress", "axlUser", "axlFingerprint"],
    }),
    axlFingerprint: text(
      "SHA-256 of the certificate that the host must present, as hex with or without colons. Without it the certificate must be signed by a certificate authority that the appliance trusts.",
      { min: 64, max: 95, search: false },
    ),
    axlId: text("Id of the cluster in the call manager database.", { readOnly: true }),
    nextAuthenticationUrl: text("URL that authenticates pushes to phones that Carillon does not serve.", {
      format: "url",
    }),
    snmpCommunity: secret("SNMP version 2 community.", { max: 20, boundTo: ["axlAddress"] }),
    snmpUsername: text("SNMP version 3 user.", { max: 32 }),
    snmpAuthPassword: secret("SNMP version 3 authentication password.", {
      max: 255,
      boundTo: ["axlAddress", "snmpUsername"],
    }),
    snmpEncryptPassword: secret("SNMP version 3 privacy password.", {
      max: 255,
      boundTo: ["axlAddress", "snmpUsername"],
    }),
    secureConnection: boolean("CTI connections use TLS.", { default: false }),
    capfAddress: text("CAPF server that issues certificates."),
    capfPort: port("Port of this server."),
    tftpAddress: text("TFTP server."),
    tftpPort: port("Port of this server."),
    callmgrClusterOnpremServers: computed("Appliances that serve the phones of the cluster.", "array", {
      of: {
        callmgrClusterOnpremServerId: uuid("Id of the appliance's settings for the cluster.", { required: true }),
        endpointId: uuid("The appliance.", { required: true }),
        endpointName: text("Name of the appliance."),
        isPhoneGatherer: boolean("The appliance queries the cluster for phones.", { required: true }),
        makeCtiConnection: boolean("The appliance opens CTI connections in advance.", { required: true }),
      },
    }),
  },
});
