import { integer, list, option, timestamp, uuid } from "../../schema/field.ts";

const id = uuid("Id.", { required: true });

/** How an appliance stands to the one that would take its place. @source service-api.md, /v1/extensions; decisions.md 12 */
export const FAILOVER_STATUS_FIELDS = {
  endpointId: uuid("Appliance concerned.", { required: true }),
  role: option("Role of the appliance.", ["primary", "backup", "standalone"], { required: true }),
  state: option("Current state.", ["active", "standby", "takeover", "unreachable"], { required: true }),
  partnerEndpointId: uuid("Partner appliance."),
  lastHeartbeatAt: timestamp("Last heartbeat from the partner."),
  activationGroupIds: list("Activation groups that the appliance serves now.", id, { required: true }),
  mode: option("Source of commands: the cloud, peer appliances, or none.", ["cloud", "lan", "solo"], { required: true }),
  term: integer("Term: number of the last role change.", { required: true }),
  since: timestamp("When the state began; null if unknown."),
  peers: list("Peers with a current heartbeat.", id, { required: true }),
};
