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
    "Password of pushes. Default: a random password at each start, which suffices if the phones' authentication URL " +
      "points to this plugin.",
  ),
};
