import { boolean, integer, secret, text } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Configuration of the apple-push plugin. */
export default {
  key: secret(sentence("config.key"), { max: 4_096 }),
  keyId: text(sentence("config.key-id"), { max: 10 }),
  teamId: text(sentence("config.team-id"), { max: 10 }),
  topic: text(sentence("config.topic"), { max: 155 }),
  criticalAlerts: boolean(sentence("config.critical-alerts"), {
    default: false,
  }),
  host: text(sentence("config.host"), { max: 255, default: "api.push.apple.com" }),
  sandboxHost: text(sentence("config.sandbox-host"), {
    max: 255,
    default: "api.sandbox.push.apple.com",
  }),
  port: integer(sentence("config.port"), { min: 1, max: 65_535, default: 443 }),
  certificateAuthority: text(sentence("config.certificate-authority"), {
    max: 65_536,
  }),
  atOnce: integer(sentence("config.at-once"), { min: 1, max: 200, default: 40 }),
};
