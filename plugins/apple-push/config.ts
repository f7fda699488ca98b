import { boolean, integer, secret, text } from "#plugin-api";

/** The configuration of push messages by APNs. */
export default {
  key: secret("Signing key for the push service in PEM: the .p8 file as it was downloaded.", { max: 4_096 }),
  keyId: text("The key's id, ten characters.", { max: 10 }),
  teamId: text("The developer team's id, ten characters.", { max: 10 }),
  topic: text("The app's bundle id: org.example.bells.", { max: 155 }),
  criticalAlerts: boolean("Emergencies sound whatever the switches say; the app must have been granted that.", {
    default: false,
  }),
  host: text("Push service for devices of type apns.", { max: 255, default: "api.push.apple.com" }),
  sandboxHost: text("Push service for devices of type apns-sandbox.", {
    max: 255,
    default: "api.sandbox.push.apple.com",
  }),
  port: integer("Its port.", { min: 1, max: 65_535, default: 443 }),
  certificateAuthority: text("Certificate in PEM of who signed the service's; the system's unless given.", {
    max: 65_536,
  }),
  atOnce: integer("Messages under way at once.", { min: 1, max: 200, default: 40 }),
};
