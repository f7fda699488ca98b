import { integer, list, option, timestamp, uuid } from "../../schema/field.ts";

const id = uuid("Id.", { required: true });

/** How an appliance stands to the one that would take its place. @source service-api.md, /v1/extensions; decisions.md 12 */
export const FAILOVER_STATUS_FIELDS = {
  endpointId: uuid("Appliance it is about.", { required: true }),
  role: option("What it is to its partner.", ["primary", "backup", "standalone"], { required: true }),
  state: option("What it does now.", ["active", "standby", "takeover", "unreachable"], { required: true }),
  partnerEndpointId: uuid("Appliance that would take its place."),
  lastHeartbeatAt: timestamp("When its partner was last heard of."),
  activationGroupIds: list("Groups whose devices it activates now.", id, { required: true }),
  mode: option("Where it takes its orders from.", ["cloud", "lan", "solo"], { required: true }),
  term: integer("Number of the last change of roles.", { required: true }),
  since: timestamp("When the state began; null where nothing is known."),
  peers: list("Appliances that it hears of.", id, { required: true }),
};
