import { computed, text, uuid } from "../../schema/field.ts";

/** Summary of a place within its parent. */
export const PLACE_SUMMARY_FIELDS = {
  id: uuid("Its id.", { required: true }),
  name: text("Name.", { required: true }),
  externalId: text("Name in another system."),
};

/** Names of a place in other systems; currently at most one. */
export const EXTERNAL_SOURCES_FIELD = computed(
  "Names in other systems; returned with includeExternalSources.",
  "array",
  {
    of: { externalId: text("The name.", { required: true }) },
    when: "includeExternalSources",
  },
);
