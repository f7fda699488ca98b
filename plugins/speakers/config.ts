import { boolean, json, secret } from "#plugin-api";

/** Configuration of the speakers plugin. */
export default {
  joinSecret: secret(
    "Join secret: agents that send it are accepted at once and may get a new token; at least 16 characters.",
  ),
  openToAll: boolean(
    "Agents without the join secret may also register. They wait until IsConfigured of their device is set to true.",
    {
      default: false,
    },
  ),
  rules: json(
    'Speaker settings: a list of {"volume" (0 to 100), "delayMs" (0 to 1000), "zones"} for all agents, for those of a ' +
      '"model", or for the one with a "mac"; later rules win. "zones" is a list of {"group", "port", "priority"}: multicast ' +
      "groups that the speaker also plays; 0 is the highest priority.",
    { default: [] },
  ),
};
