import { json, secret } from "#plugin-api";

/** Configuration of the http-report plugin. */
export default {
  reports: json(
    'Reports: a list of {"key", "name", "url", "columns"} with "description" and "parameters", a list of {"name", "description", "required"}.',
    { default: [] },
  ),
  secret: secret("Sent to the services as a bearer token. Default: none.", { max: 1_000, boundTo: ["reports.url"] }),
};
