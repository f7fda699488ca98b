import { text } from "../../schema/field.ts";

/** The words of the all-clear, made ready with the message that it will end, so that nobody has to find them then. own choice */
export const ALL_CLEAR_FIELDS = {
  allClearSubject: text(
    "First line of its all-clear, made ready with it. own choice: names what is over when not given.",
    {
      max: 255,
    },
  ),
  allClearBody: text("Its all-clear, made ready with it. own choice.", { max: 10_000 }),
};
