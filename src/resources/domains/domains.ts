import { ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** The tree of domains. @source service-api.md, domains and Limits; decisions.md 4 */
export default defineResource({
  name: "domains",
  doc: "A part of the organisation; every request acts in one domain.",
  paths: [{ at: "domains" }],
  idParam: "domainId",
  scope: "organisation",
  domainField: "id",
  replicate: "A",
  limit: { most: 200 },
  unique: [["parentId", "name"]],
  fields: {
    name: text(
      "What people call the domain. own choice: at most 140 characters, unique below its parent, without `/`.",
      {
        required: true,
        min: 1,
        max: 140,
        without: "/",
      },
    ),
    parentId: ref(
      "Domain directly above; the acting domain when not given, null for the one root. A later request does not move the domain. own choice: deleting a domain moves those below it to its parent, as it does with its resources.",
      "domains",
      {
        createOnly: true,
        onDelete: "refuse",
      },
    ),
    path: text("Ids from the root down to this domain, joined by `/`.", { readOnly: true, max: 8_000 }),
    namePath: text("Names from the root down to this domain, joined by `/`.", { readOnly: true, max: 30_000 }),
  },
});
