import { integer, secret, text } from "#plugin-api";

/** Configuration of the http-filter plugin. */
export default {
  url: text("Address of the service, such as https://presence.example.org/filter.", { max: 2_000, format: "url" }),
  secret: secret("Sent to the service as a bearer token. Default: none.", { max: 1_000, boundTo: ["url"] }),
  timeoutMs: integer("Time limit of one request. After it the message goes to all its devices.", {
    min: 100,
    max: 2_000,
    default: 1_000,
    unit: "ms",
  }),
};
