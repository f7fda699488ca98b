import type { ConflictView } from "../../cloud-link/edit-conflicts.ts";
import { json as anyJson, boolean, computed, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, deletedResponse, jsonResponse } from "../action.ts";

const NAME = { max: 10_000 };

const FIELD = {
  name: text("Field of the row.", { required: true }),
  site: anyJson("What the site wrote, as the API takes it; of a file its name and size.", { maxBytes: 1_048_576 }),
  present: anyJson("What it holds now.", { maxBytes: 1_048_576 }),
  siteName: text("What people call the row that a reference of the site names.", NAME),
  presentName: text("What people call the row that is referred to now.", NAME),
};

const CONFLICT = {
  id: uuid("Its id, the same at both ends of the link.", { required: true }),
  resource: text("Kind of the row.", { required: true }),
  rowId: text("Id of the row.", { required: true }),
  rowName: text("What people call it.", NAME),
  op: option("What the site did.", ["create", "update", "delete"], { required: true }),
  kind: option(
    "Both sides changed it; the row is gone; or it could not be written as the site wanted it.",
    ["changed", "gone", "refused"],
    { required: true },
  ),
  endpointId: uuid("Appliance where it was done.", { required: true }),
  actorName: text("Who did it; an id where the caller does not see that user.", { required: true, ...NAME }),
  at: timestamp("When.", { required: true }),
  fields: computed("What differs; none where the row was to be deleted.", "array", { of: FIELD }),
  usable: boolean("The site's value can still be had.", { required: true }),
};

/** Edits of appliances that lost against the cloud's. @source replication.md 4; own choice: the paths */
export const linkConflictActions: readonly Action[] = [
  {
    method: "get",
    at: "link/conflicts",
    doc: "Changes at a site that did not stand, as the cloud's were there first, the newest first: at an appliance its own, at the cloud all. Those whose rows the caller does not see, or hold the site's values by now, are left out.",
    response: {
      kind: "members",
      fields: {
        conflicts: computed("The newest 100.", "array", { of: CONFLICT }),
        more: integer("How many more are kept.", { required: true }),
      },
    },
    async handle({ needs, by }) {
      const { shown, more } = needs.link.conflicts(by.scope);
      return jsonResponse({ conflicts: shown.map(presentConflict), more });
    },
  },
  {
    method: "post",
    at: "link/conflicts/{conflictId}/use-site-value",
    doc: "Gives the row what the site wrote, as a fresh edit of the caller, who needs the permission for that.",
    response: { kind: "nothing" },
    async handle({ needs, params, by }) {
      await needs.link.acceptSiteValue(params.conflictId ?? "", by);
      return { status: 204, body: null };
    },
  },
  {
    method: "delete",
    at: "link/conflicts/{conflictId}",
    doc: "Leaves the row as it is and forgets the conflict at this end of the link.",
    response: { kind: "deletion" },
    async handle({ needs, params: { conflictId = "" }, by }) {
      await needs.link.keepCurrentValue(conflictId, by.scope);
      return deletedResponse(conflictId);
    },
  },
];

function presentConflict({ at, ...rest }: ConflictView): object {
  return { ...rest, at: new Date(at).toISOString() };
}
