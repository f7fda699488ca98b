import { impactOf, meaningAt } from "../broadcast/impact.ts";
import { boolean } from "../schema/field.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { rehearse } from "../store/rehearsal.ts";
import type { Answer, ApiRequest } from "./action.ts";
import { withMembers } from "./actions/answer-members.ts";
import { type Query, singleText } from "./query.ts";
import { ringMoves, ringsSeen } from "./ring-moves.ts";

/** The query parameter of every generic write. @source decisions.md 1, dryRun */
export const DRY_RUN_QUERY = {
  dryRun: boolean(
    "True rehearses the write: the answer is the one that it would have, with `dryRun` beside, which tells who would join or leave and who would gain or lose access. Nothing is written.",
  ),
};

function countedOf(item: JsonSchema): JsonSchema {
  const first = { type: "array", items: item, maxItems: 100 };
  return closed({ count: { type: "integer", minimum: 0 }, first });
}

function closed(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties };
}

const TEXT = { type: "string" };
const ID = { type: "string", format: "uuid" };
const MAYBE = { type: ["string", "null"], format: "uuid" } as const;
const NAMED = countedOf(closed({ id: ID, name: TEXT }));
const HOLDING = countedOf(closed({ userId: ID, userName: TEXT, verb: TEXT, spec: TEXT, domainId: MAYBE }));
const MOVING = closed({ joining: NAMED, leaving: NAMED });

/** What stands under `dryRun` in the answer to a rehearsal. */
export const IMPACT_SCHEMA: JsonSchema = {
  ...closed({ users: MOVING, devices: MOVING, access: closed({ gaining: HOLDING, losing: HOLDING }) }),
  description:
    "With dryRun: who would be reached and who no longer, what would be called and what no longer, who would gain and lose which right (`*` on `*`: all of them) in which domain (null: wherever the user may act).",
};

/** True when a write is only rehearsed; any text but "true" is false, as for all booleans. */
export function isDryRun(query: Query): boolean {
  return singleText(query, "dryRun") === "true";
}

/**
 * Carries a write out in a savepoint that is rolled back and answers as the write would, with the member `dryRun`:
 * `{users, devices: {joining, leaving: {count, first: [{id, name}]}}, access: {gaining, losing: {count, first: [{userId,
 * userName, verb, spec, domainId}]}}}`; `first` holds at most 100, and none that the caller may not see. `tellsRings` adds the
 * member `ringDiff`. Refusals are those of the write.
 */
export async function dryRun<R extends ApiRequest>(
  request: R,
  run: (request: R) => Promise<Answer>,
  tellsRings: boolean,
): Promise<Answer> {
  const { needs, by } = request;
  const [meaning, rings] = [meaningAt(needs.clock.now()), ringsSeen(needs)];
  const rehearsal = rehearse(needs.store, (...row) => ({ ...meaning(...row), ...rings(...row) }));
  const answer = await run({ ...request, needs: { ...needs, store: rehearsal.store } });
  const impact = await impactOf(rehearsal.written, { reader: needs.store, clock: needs.clock, scope: by.scope });
  // The version in its head would be one that never was.
  const { headers: _version, ...rest } = answer;
  const ringDiff = tellsRings ? { ringDiff: await ringMoves(rehearsal.written, request) } : {};
  return withMembers(rest, { dryRun: impact, ...ringDiff });
}
