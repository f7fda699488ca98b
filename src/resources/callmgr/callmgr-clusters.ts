import { boolean, computed, integer, option, secret, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const port = (doc: string) => integer(doc, { min: 1, max: 65_535 });

const CTI_UNSUPPORTED =
  "Carillon has no CTI (JTAPI) client, so that there is no CTI connection to encrypt: phones are activated over HTTP.";

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
    secureConnection: boolean("CTI connections use TLS. Stored for CTI (JTAPI), which Carillon does not support.", {
      default: false,
      unsupported: CTI_UNSUPPORTED,
    }),
    capfAddress: text(
      "CAPF server that issues certificates to phones; a phone whose configuration names another one is reported by the check of its configuration.",
    ),
    capfPort: port("Port of this server. Stored; Carillon opens no connection to it."),
    tftpAddress: text(
      "TFTP server from which the configuration of the phones is read, to find out whether they accept pushes.",
    ),
    tftpPort: port("UDP port of this server; default port: 69."),
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
