import { json, option, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

/** Operations of audit entries: the three writes, logins, denied requests, what was read, and changes of trust. */
export const AUDIT_OPS = [
  ...(["create", "update", "delete", "log-in", "log-in-refused", "refused", "trust-change", "read"] as const),
  ...(["log-in-throttled", "credential-refused", "audit-sealed", "history-removed"] as const),
  ...(["password-reset-requested", "password-reset"] as const),
] as const;

/** Selects entries that the alarm detectors read, of which there are few. */
export const TRUST_CHANGES_SQL = "op = 'trust-change'";
export const REFUSED_LOGINS_SQL = "op IN ('log-in-refused', 'log-in-throttled', 'credential-refused')";

/**
 * Audit log: an entry for every write of a row, every login and every denied request. Written by the store only,
 * never changed or deleted; the hash of each entry covers the previous one.
 * @source docs/decisions/0017-store.md
 */
export default defineResource({
  name: "audit-entries",
  doc: "An audit record of a change, login or denied request: actor, address, domain and changes.",
  paths: [{ at: "audit", methods: ["get"] }],
  idParam: "auditEntryId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  appendOnly: true,
  fullTextSearched: true,
  auditsReading: true,
  indexes: [["rowId"], ["actorId"], ["op"]],
  partialIndexes: {
    trust_changes: { fields: ["createdAt"], where: TRUST_CHANGES_SQL },
    refused_logins: { fields: ["createdAt"], where: REFUSED_LOGINS_SQL },
  },
  fields: {
    op: option("Operation.", AUDIT_OPS, { readOnly: true }),
    resource: text("Name of the resource.", { readOnly: true, max: 140 }),
    rowId: uuid("Id of the row; null for a denied request without a row.", { readOnly: true }),
    actorKind: option("A user or a component of Carillon.", ["user", "system"], { readOnly: true }),
    actorId: uuid("Id of the user; null for Carillon itself and for unauthenticated requests.", { readOnly: true }),
    actorName: text("Name of the user at that time, or of the component.", { readOnly: true }),
    address: text(
      "Source IP address, or `endpoint:` and the id of the appliance that forwarded the request; null for internal changes.",
      { readOnly: true, max: 140 },
    ),
    actingDomainId: uuid("Acting domain.", { readOnly: true }),
    before: json("The row before the change; null for a new row. Secrets are masked.", { readOnly: true }),
    after: json("The row after the change; null for a deleted row. Secrets are masked.", { readOnly: true }),
    details: json("Details of a login, a denied request or a change of trust.", { readOnly: true }),
    changeSentence: sentenceField("`change` of the details", "details.change"),
    reasonSentence: sentenceField("`reason` of the details", "details.reason"),
    hash: text("HMAC-SHA256 (hex) over the previous entry and this one, with a key of the appliance (hash chain).", {
      readOnly: true,
      max: 64,
    }),
  },
});
