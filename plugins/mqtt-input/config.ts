import { json, secret, text } from "#plugin-api";

/** The configuration of inputs over MQTT. */
export default {
  brokerUrl: text("Broker to connect to: mqtt://host:1883, or mqtts://host:8883 over TLS.", { max: 1_000 }),
  username: text("User name at the broker."),
  password: secret("Password at the broker."),
  clientId: text(
    "Name by which the broker keeps what came while the appliance was away; each appliance needs its own.",
    { min: 1, max: 64, default: "carillon" },
  ),
  certificateAuthority: text("Certificate in PEM of who signed the broker's; the system's authorities unless given.", {
    max: 65_536,
  }),
  topics: json(
    'What is followed: a list of {"topic"} (`+` and `#` as in MQTT) with "source" (name of the input; the topic unless ' +
      'given), "stateMember" (member of the payload that holds the state; state unless given), "idMember" (member that ' +
      'names the event; none unless given), "retained" (values that the broker kept from before count, too; false unless ' +
      'given) and "calls" (a member call is the report of a call; false unless given).',
    { default: [] },
  ),
};
