import type { HttpResponse } from "../../lib/http-response.ts";
import { measureImpact, rowImpactAt } from "../../notifications/recipients/change-impact.ts";
import { boolean } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { createDryRun } from "../../store/dry-run.ts";
import type { ApiRequest } from "../action.ts";
import { addMembers } from "../actions/add-members.ts";
import { type Query, textParameter } from "../query/query.ts";
import { captureRings, presentRingDiff } from "./ring-diff-response.ts";

/** The query parameter of every generic write. @source docs/decisions/0001-lists-and-paging.md, dryRun */
export const DRY_RUN_QUERY = {
  dryRun: boolean(
    "Dry run: returns the response of the write without storing anything, plus `dryRun` with the users and devices that would join or leave and the permissions that would be gained or lost.",
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

/** Schema of `dryRun` in the response of a dry run. */
export const IMPACT_SCHEMA: JsonSchema = {
  ...closedObject({
    users: MEMBERSHIP_CHANGES,
    devices: MEMBERSHIP_CHANGES,
    access: closedObject({ gaining: GRANTS, losing: GRANTS }),
  }),
  description:
    "With dryRun: users and devices that would join or leave, and permissions that would be gained or lost (`*` on `*`: all), by domain (null: all domains of the user).",
};

/** True for a dry run; any value but "true" is false, as for all booleans. */
export function isDryRun(query: Query): boolean {
  return textParameter(query, "dryRun") === "true";
}

/**
 * Executes a write in a savepoint that is rolled back and returns its response with the member `dryRun`: `{users,
 * devices: {joining, leaving: {count, first: [{id, name}]}}, access: {gaining, losing: {count, first: [{userId,
 * userName, verb, spec, domainId}]}}}`; `first` contains at most 100 rows visible to the caller. `includeRings` adds
 * the member `ringDiff`. Errors are those of the write.
 */
export async function executeDryRun<R extends ApiRequest>(
  request: R,
  run: (request: R) => Promise<HttpResponse>,
  includeRings: boolean,
): Promise<HttpResponse> {
  const { deps, by } = request;
  const [impactOf, rings] = [rowImpactAt(deps.clock.now()), captureRings(deps)];
  const dryRun = createDryRun(deps.store, (...row) => ({ ...impactOf(...row), ...rings(...row) }));
  const response = await run({ ...request, deps: { ...deps, store: dryRun.store } });
  const impact = await measureImpact(dryRun.writes, { reader: deps.store, clock: deps.clock, scope: by.scope });
  // The version in its head would be one that never was.
  const { headers: _version, ...rest } = response;
  const ringDiff = includeRings ? { ringDiff: await presentRingDiff(dryRun.writes, request) } : {};
  return addMembers(rest, { dryRun: impact, ...ringDiff });
}
