import { integer, secret, text } from "#plugin-api";

/** The configuration of push messages to Android apps. */
export default {
  serviceAccount: secret("The service account's key of the app's project: the JSON file as it was downloaded.", {
    max: 16_384,
  }),
  address: text("Where messages are sent; the service's own unless given.", {
    max: 250,
    default: "https://fcm.googleapis.com",
  }),
  atOnce: integer("Messages under way at once.", { min: 1, max: 200, default: 40 }),
};
