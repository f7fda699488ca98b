import type { ConflictView } from "../../cloud-link/edit-conflicts.ts";
import { json as anyJson, boolean, computed, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, deletedResponse, jsonResponse } from "../action.ts";

const NAME = { max: 10_000 };

const FIELD = {
  name: text("Name of the field.", { required: true }),
  site: anyJson("Value written at the site, in API format; for a file, its name and size.", { maxBytes: 1_048_576 }),
  present: anyJson("Current value.", { maxBytes: 1_048_576 }),
  siteName: text("Name of the row referenced by the site's value.", NAME),
  presentName: text("Name of the row referenced by the current value.", NAME),
};

const CONFLICT = {
  id: uuid("Id, the same on both sides of the link.", { required: true }),
  resource: text("Resource type of the row.", { required: true }),
  rowId: text("Id of the row.", { required: true }),
  rowName: text("Name of the row.", NAME),
  op: option("Operation at the site.", ["create", "update", "delete"], { required: true }),
  kind: option(
    "changed: both sides changed the row; gone: the row no longer exists; refused: the site's value could not be written.",
    ["changed", "gone", "refused"],
    { required: true },
  ),
  endpointId: uuid("Appliance of the change.", { required: true }),
  actorName: text("User who made the change; an id if the caller may not see the user.", { required: true, ...NAME }),
  at: timestamp("Time of the change.", { required: true }),
  fields: computed("Fields that differ; none for a deletion.", "array", { of: FIELD }),
  usable: boolean("The site's value can still be used.", { required: true }),
};

/** Edits of appliances that lost against the cloud's. @source docs/decisions/0040-replication.md */
export const linkConflictActions: readonly Action[] = [
  {
    method: "get",
    at: "link/conflicts",
    doc: "Lists changes made at a site that lost against changes in the cloud, newest first. An appliance returns its own conflicts, the cloud all. Conflicts whose rows the caller may not see, or that already have the site's values, are omitted.",
    response: {
      kind: "members",
      fields: {
        conflicts: computed("The newest 100 conflicts.", "array", { of: CONFLICT }),
        more: integer("Number of further conflicts.", { required: true }),
      },
    },
    async handle({ deps, by }) {
      const { shown, more } = deps.link.conflicts(by.scope);
      return jsonResponse({ conflicts: shown.map(presentConflict), more });
    },
  },
  {
    method: "post",
    at: "link/conflicts/{conflictId}/use-site-value",
    doc: "Writes the site's value as a new change of the caller, who needs the permission for it.",
    response: { kind: "nothing" },
    async handle({ deps, params, by }) {
      await deps.link.acceptSiteValue(params.conflictId ?? "", by);
      return { status: 204, body: null };
    },
  },
  {
    method: "delete",
    at: "link/conflicts/{conflictId}",
    doc: "Keeps the current value and deletes the conflict on this side of the link.",
    response: { kind: "deletion" },
    async handle({ deps, params: { conflictId = "" }, by }) {
      await deps.link.keepCurrentValue(conflictId, by.scope);
      return deletedResponse(conflictId);
    },
  },
];

function presentConflict({ at, ...rest }: ConflictView): object {
  return { ...rest, at: new Date(at).toISOString() };
}
