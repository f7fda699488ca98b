import { json, secret, text } from "#plugin-api";

/** Configuration of the mqtt-input plugin. */
export default {
  brokerUrl: text("URL of the broker: mqtt://host:1883, or mqtts://host:8883 for TLS.", { max: 1_000 }),
  username: text("User name at the broker."),
  password: secret("Password at the broker.", { boundTo: ["brokerUrl", "username"] }),
  clientId: text(
    "Client id, unique per appliance. The broker keeps messages for it while the appliance is disconnected. Default: " +
      "carillon- and a random id.",
    { min: 1, max: 64 },
  ),
  certificateAuthority: text("CA certificate of the broker in PEM. Default: the system's CAs.", {
    max: 65_536,
  }),
  topics: json(
    'Subscriptions: a list of {"topic"} (wildcards `+` and `#`, shared as $share/group/topic) with "source" (name of the input, default the topic), ' +
      '"stateMember" (member of the payload that holds the state, default state), "idMember" (member that identifies the ' +
      'event, default none), "retained" (accept retained messages, default false) and "calls" (a member call is a call ' +
      "report, default false).",
    { default: [] },
  ),
};
