import { text, uuid } from "../../schema/field.ts";

/** What is shown of a place within the one that holds it. own choice */
export const NESTED = {
  id: uuid("Its id.", { required: true }),
  name: text("What people call it.", { required: true }),
  externalId: text("Its name in another system."),
};
