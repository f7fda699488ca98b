import type { HttpResponse } from "../../lib/http-response.ts";
import { measureImpact, rowImpactAt } from "../../notifications/recipients/change-impact.ts";
import { boolean } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { createDryRun } from "../../store/dry-run.ts";
import type { ApiRequest } from "../action.ts";
import { addMembers } from "../actions/add-members.ts";
import { type Query, textParameter } from "../query/query.ts";
import { captureRings, presentRingDiff } from "./ring-diff-response.ts";

/** The query parameter of every generic write. @source decisions.md 1, dryRun */
export const DRY_RUN_QUERY = {
  dryRun: boolean(
    "True rehearses the write: the answer is the one that it would have, with `dryRun` beside, which tells who would join or leave and who would gain or lose access. Nothing is written.",
  ),
};

function countSchema(item: JsonSchema): JsonSchema {
  const first = { type: "array", items: item, maxItems: 100 };
  return closedObject({ count: { type: "integer", minimum: 0 }, first });
}

function closedObject(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties };
}

const TEXT = { type: "string" };
const ID = { type: "string", format: "uuid" };
const OPTIONAL_ID = { type: ["string", "null"], format: "uuid" } as const;
const NAMED = countSchema(closedObject({ id: ID, name: TEXT }));
const GRANTS = countSchema(closedObject({ userId: ID, userName: TEXT, verb: TEXT, spec: TEXT, domainId: OPTIONAL_ID }));
const MEMBERSHIP_CHANGES = closedObject({ joining: NAMED, leaving: NAMED });

/** What stands under `dryRun` in the answer to a rehearsal. */
export const IMPACT_SCHEMA: JsonSchema = {
  ...closedObject({
    users: MEMBERSHIP_CHANGES,
    devices: MEMBERSHIP_CHANGES,
    access: closedObject({ gaining: GRANTS, losing: GRANTS }),
  }),
  description:
    "With dryRun: who would be reached and who no longer, what would be called and what no longer, who would gain and lose which right (`*` on `*`: all of them) in which domain (null: wherever the user may act).",
};

/** True when a write is only rehearsed; any text but "true" is false, as for all booleans. */
export function isDryRun(query: Query): boolean {
  return textParameter(query, "dryRun") === "true";
}

/**
 * Carries a write out in a savepoint that is rolled back and answers as the write would, with the member `dryRun`:
 * `{users, devices: {joining, leaving: {count, first: [{id, name}]}}, access: {gaining, losing: {count, first: [{userId,
 * userName, verb, spec, domainId}]}}}`; `first` holds at most 100, and none that the caller may not see. `tellsRings` adds the
 * member `ringDiff`. Refusals are those of the write.
 */
export async function executeDryRun<R extends ApiRequest>(
  request: R,
  run: (request: R) => Promise<HttpResponse>,
  tellsRings: boolean,
): Promise<HttpResponse> {
  const { needs, by } = request;
  const [meaning, rings] = [rowImpactAt(needs.clock.now()), captureRings(needs)];
  const rehearsal = createDryRun(needs.store, (...row) => ({ ...meaning(...row), ...rings(...row) }));
  const answer = await run({ ...request, needs: { ...needs, store: rehearsal.store } });
  const impact = await measureImpact(rehearsal.writes, { reader: needs.store, clock: needs.clock, scope: by.scope });
  // The version in its head would be one that never was.
  const { headers: _version, ...rest } = answer;
  const ringDiff = tellsRings ? { ringDiff: await presentRingDiff(rehearsal.writes, request) } : {};
  return addMembers(rest, { dryRun: impact, ...ringDiff });
}
