import { secret, text } from "#plugin-api";

/** Configuration of the ip-phones plugin. */
export default {
  pushUser: text("User name of pushes, which phones verify at their authentication URL. No colon.", {
    min: 1,
    max: 64,
    without: ":",
    default: "carillon",
  }),
  pushPassword: secret(
    "Password of pushes to all phones, only for appliances that share an authentication URL, or for one of another " +
      "service. Default: another password for each phone, good while a push to it is under way.",
  ),
};
