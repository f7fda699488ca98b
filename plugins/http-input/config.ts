import { json, secret } from "#plugin-api";

/** The configuration of inputs over HTTP. */
export default {
  sources: json(
    'Who may tell something: a list of {"name"} with "stateMember" (member of the body that holds the state; state ' +
      'unless given), "idMember" (member that names the event; none unless given), "inUrl" (the secret may stand in the address, and GET is taken; false unless given), "calls" (a ' +
      'member call is the report of a call; false unless given) and "perMinute" (requests taken in a minute; 60 unless given).',
    { default: [] },
  ),
  secrets: secret("The secret of each source, a line name=secret each; at least 16 characters.", { max: 65_536 }),
};
