import { text } from "../../schema/field.ts";

/** All-clear texts, prepared together with the message that they end. */
export const ALL_CLEAR_FIELDS = {
  allClearSubject: text("Subject of the prepared all-clear; default: a text that names the message that is over.", {
    max: 255,
  }),
  allClearBody: text("Body of the prepared all-clear.", { max: 10_000 }),
};
