import { secret, text } from "#plugin-api";

/** The configuration of phone pushes. */
export default {
  pushUser: text("Name that pushes carry; a phone asks the authentication URL whether it may obey. No colon.", {
    min: 1,
    max: 64,
    without: ":",
    default: "carillon",
  }),
  pushPassword: secret(
    "Password that pushes carry. own choice: when not set, a new one is made at each start, which is enough while the " +
      "phones' authentication URL leads here.",
  ),
};
