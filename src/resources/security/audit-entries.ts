import { json, option, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** What an entry of the audit is about: the three writes, and what people tried at the door. */
export const AUDIT_OPS = ["create", "update", "delete", "log-in", "log-in-refused", "refused"] as const;

/**
 * Who did what: an entry for every write of a row, every log-in and every refusal. Written by the store alone, never
 * changed; each entry's hash covers the one before.
 *
 * own choice: the path and the names of the fields; entries are kept for as long as the appliance is.
 * @source interfaces.md, Writing and reading
 */
export default defineResource({
  name: "audit-entries",
  doc: "Something that was done or refused: who, from where, in which domain, and what it changed.",
  paths: [{ at: "audit", methods: ["get"] }],
  idParam: "auditEntryId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  appendOnly: true,
  fullTextSearched: true,
  indexes: [["rowId"], ["actorId"]],
  fields: {
    op: option("What was done.", AUDIT_OPS, { readOnly: true }),
    resource: text("Name of the resource that it was done to.", { readOnly: true, max: 140 }),
    rowId: uuid("The row it was done to; null for a refusal that concerns none.", { readOnly: true }),
    actorKind: option("A user, or a part of Carillon itself.", ["user", "system"], { readOnly: true }),
    actorId: uuid("The user; null for Carillon itself, and where nobody was recognised.", { readOnly: true }),
    actorName: text("The user's name at that time, or the part of Carillon.", { readOnly: true }),
    address: text(
      "Network address that it came from, or `endpoint:` and the id of the appliance that handed it on; null within the appliance.",
      { readOnly: true, max: 140 },
    ),
    actingDomainId: uuid("Domain that was acted in.", { readOnly: true }),
    before: json("The row as it was, null for a new one. Secrets are masked.", { readOnly: true }),
    after: json("The row as it became, null for a deleted one. Secrets are masked.", { readOnly: true }),
    details: json("What a log-in or a refusal was about.", { readOnly: true }),
    hash: text("SHA-256 (hex) over the entry before and this one.", { readOnly: true, max: 64 }),
  },
});
