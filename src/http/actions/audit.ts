import { invalidValue } from "../../lib/errors.ts";
import { boolean, computed, integer, text, timestamp, uuid } from "../../schema/field.ts";
import { type AuditVerification, verifyAudit } from "../../store/audit-chain.ts";
import { type Action, type ApiRequest, jsonResponse } from "../action.ts";
import { textParameter } from "../query/query.ts";

/** Entries that one request follows: under a second of slices. own choice */
const MAX_ENTRIES = 20_000;

const NUMBER = { max: Number.MAX_SAFE_INTEGER, required: true } as const;
const QUERY = {
  after: text("`last` of an earlier answer as `number:hash`: goes on behind it.", { max: 100 }),
};
const VERIFICATION_RESULT = {
  intact: boolean("Nothing that was read was changed, taken out or put in.", { required: true }),
  entries: integer("Entries that are as they were written, from the first one on.", NUMBER),
  last: computed("Number and hash of the last of them, to be noted elsewhere.", "object", {
    of: {
      number: integer("Its number.", NUMBER),
      hash: text("Its hash, empty before the first entry.", { required: true, max: 64 }),
    },
  }),
  broken: computed("The first entry that is not as it was written; null when all are.", "object", {
    nullable: true,
    of: {
      number: integer("Its number.", NUMBER),
      id: uuid("Its id, null when it is gone."),
      at: timestamp("Its time, null when that is unreadable."),
      reason: text("What is wrong, in words.", { required: true, max: 1_000 }),
    },
  }),
  finished: boolean("False when there is more to read behind `last`.", { required: true }),
};

/** Whether the audit is still what was written. own choice: the path, and that one request follows 20,000 entries. */
export const auditActions: readonly Action[] = [
  {
    method: "get",
    at: "audit/verification",
    doc: "Follows the chain of hashes of the audit and says where it breaks.",
    query: QUERY,
    response: { kind: "members", fields: VERIFICATION_RESULT },
    async handle(request) {
      const { store, clock } = request.needs;
      const after = startingPoint(request);
      return jsonResponse(await verifyAudit(store, clock, { ...(after ? { after } : {}), maxEntries: MAX_ENTRIES }));
    },
  },
];

function startingPoint({ query }: ApiRequest): AuditVerification["last"] | null {
  const given = textParameter(query, "after");
  if (given === null || given === "") return null;
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(given);
  if (!match)
    throw invalidValue("after", "It is a number, a colon and a hash, as an earlier answer's `last` says them.");
  return { number: Number(match[1]), hash: match[2] as string };
}
