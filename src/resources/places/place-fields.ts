import { computed, text, uuid } from "../../schema/field.ts";

/** What is shown of a place within the one that holds it. own choice */
export const PLACE_SUMMARY_FIELDS = {
  id: uuid("Its id.", { required: true }),
  name: text("What people call it.", { required: true }),
  externalId: text("Its name in another system."),
};

/** What other systems call a place. own choice: it has one such name at most */
export const EXTERNAL_SOURCES_FIELD = computed(
  "Its names in other systems; given with includeExternalSources.",
  "array",
  {
    of: { externalId: text("The name.", { required: true }) },
    when: "includeExternalSources",
  },
);
