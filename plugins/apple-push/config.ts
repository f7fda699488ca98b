import { boolean, integer, secret, text } from "#plugin-api";

/** Configuration of the apple-push plugin. */
export default {
  key: secret("Signing key for the push service in PEM: the content of the downloaded .p8 file.", { max: 4_096 }),
  keyId: text("Key id, ten characters.", { max: 10 }),
  teamId: text("Team id of the developer account, ten characters.", { max: 10 }),
  topic: text("Bundle id of the app, such as org.example.bells.", { max: 155 }),
  criticalAlerts: boolean(
    "Emergencies play a sound even in silent mode. The app must have the critical alerts entitlement.",
    {
      default: false,
    },
  ),
  host: text("Host of the push service for devices of type apns.", { max: 255, default: "api.push.apple.com" }),
  sandboxHost: text("Host of the push service for devices of type apns-sandbox.", {
    max: 255,
    default: "api.sandbox.push.apple.com",
  }),
  port: integer("Port of both push services.", { min: 1, max: 65_535, default: 443 }),
  certificateAuthority: text("CA certificate of the push service in PEM. Default: the system's CAs.", {
    max: 65_536,
  }),
  atOnce: integer("Maximum number of concurrent requests.", { min: 1, max: 200, default: 40 }),
};
