import { json, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the mqtt-input plugin. */
export default {
  brokerUrl: text(sentence("config.broker-url"), { max: 1_000 }),
  username: text(sentence("config.username")),
  password: secret(sentence("config.password"), { boundTo: ["brokerUrl", "username"] }),
  clientId: text(sentence("config.client-id"), { min: 1, max: 64 }),
  certificateAuthority: text(sentence("config.certificate-authority"), {
    max: 65_536,
  }),
  topics: json(sentence("config.topics"), { default: [] }),
};
