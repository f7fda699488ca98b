import { boolean, json, secret } from "#plugin-api";

/** The configuration of speakers with an agent. */
export default {
  joinSecret: secret("Agents that show it are set up at once, and may take a new token; at least 16 characters."),
  openToAll: boolean(
    "Agents without the secret may register, too: they wait until IsConfigured of their device says true.",
    {
      default: false,
    },
  ),
  rules: json(
    'How speakers sound: a list of {"volume" (0 to 100), "delayMs" (0 to 1000), "zones"} for all agents, those of a ' +
      '"model", or the one with a "mac"; a later one wins. "zones" is a list of {"group", "port", "priority"} that ' +
      "the speaker listens to as well; 0 is the most urgent.",
    { default: [] },
  ),
};
