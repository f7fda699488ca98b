import { integer, list, option, timestamp, uuid } from "../../schema/field.ts";

const id = uuid("Id.", { required: true });

/**
 * Failover status of an appliance.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0042-api-contract.md, `/v1/extensions`
 */
export const FAILOVER_STATUS_FIELDS = {
  endpointId: uuid("Appliance concerned.", { required: true }),
  role: option("Role of the appliance.", ["primary", "backup", "standalone"], { required: true }),
  state: option("Current state.", ["active", "standby", "takeover", "unreachable"], { required: true }),
  partnerEndpointId: uuid("Partner appliance."),
  lastHeartbeatAt: timestamp("Last heartbeat from the partner."),
  activationGroupIds: list("Activation groups that the appliance serves now.", id, { required: true }),
  mode: option("Source of commands: the cloud, peer appliances, or none.", ["cloud", "lan", "solo"], {
    required: true,
  }),
  term: integer("Term: number of the last role change.", { required: true }),
  since: timestamp("When the state began; null if unknown."),
  peers: list("Peers with a current heartbeat.", id, { required: true }),
};
