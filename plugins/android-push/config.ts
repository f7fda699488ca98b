import { integer, secret, text } from "#plugin-api";

/** Configuration of the android-push plugin. */
export default {
  serviceAccount: secret("Service account key of the app's project: the content of the downloaded JSON file.", {
    max: 16_384,
  }),
  address: text("Base URL of the push service.", {
    max: 250,
    default: "https://fcm.googleapis.com",
  }),
  atOnce: integer("Maximum number of concurrent requests.", { min: 1, max: 200, default: 40 }),
};
