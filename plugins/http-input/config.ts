import { json, secret } from "#plugin-api";

/** Configuration of the http-input plugin. */
export default {
  sources: json(
    'Sources: a list of {"name"} with "stateMember" (member of the body that holds the state, default state), "idMember" ' +
      '(member that identifies the event, default none), "inUrl" (allow the secret in the URL and GET requests, default ' +
      'false), "calls" (a member call is a call report, default false) and "perMinute" (rate limit, default 60).',
    { default: [] },
  ),
  secrets: secret("Secrets of the sources, one line name=secret each; at least 16 characters.", { max: 65_536 }),
};
