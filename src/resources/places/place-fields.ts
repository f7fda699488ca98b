import { computed, text, uuid } from "../../schema/field.ts";

/** What is shown of a place within the one that holds it. own choice */
export const PLACE_SUMMARY_FIELDS = {
  id: uuid("Its id.", { required: true }),
  name: text("Name.", { required: true }),
  externalId: text("Its name in another system."),
};

/** What other systems call a place. own choice: it has one such name at most */
export const EXTERNAL_SOURCES_FIELD = computed(
  "Its names in other systems; returned with includeExternalSources.",
  "array",
  {
    of: { externalId: text("The name.", { required: true }) },
    when: "includeExternalSources",
  },
);
