import { ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** The tree of domains. @source docs/decisions/0004-domains.md; docs/decisions/0042-api-contract.md */
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
    name: text("Name of the domain: at most 140 characters, unique below its parent, without `/`.", {
      required: true,
      min: 1,
      max: 140,
      without: "/",
    }),
    parentId: ref(
      "Parent domain; default: the acting domain; null for the root. It cannot be changed later. Deleting a domain moves its child domains and its resources to its parent.",
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
