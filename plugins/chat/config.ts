import { option, secret } from "#plugin-api";

/** Configuration of the chat plugin. */
export default {
  webhooks: secret("Webhook URL of each channel, one line name=https://… each. Anyone who knows the URL can post.", {
    max: 65_536,
  }),
  language: option("Language of the texts added to messages.", ["en", "de"], { default: "en" }),
};
