import { option, secret } from "#plugin-api";

/** The configuration of chat channels. */
export default {
  webhooks: secret(
    "Address that takes messages for each channel, a line name=https://… each. Whoever knows it may write there.",
    { max: 65_536 },
  ),
  language: option("Language of the few words around a message.", ["en", "de"], { default: "en" }),
};
