import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, integer, text, timestamp, uuid } from "../../schema/field.ts";
import type { AuditVerification } from "../../store/audit-types.ts";
import { type Action, type ApiRequest, jsonResponse } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { addSentences } from "../sentence-members.ts";

/** Entries checked per request: less than a second of work. */
const MAX_ENTRIES = 20_000;

const NUMBER = { max: Number.MAX_SAFE_INTEGER, required: true } as const;
const QUERY = {
  after: text("`last` of an earlier response as `number:hash`; continues after it.", { max: 100 }),
};
const VERIFICATION_RESULT = {
  intact: boolean("No entry that was checked was changed, removed or inserted.", { required: true }),
  entries: integer("Number of intact entries from the first one on.", NUMBER),
  last: computed("Number and hash of the last intact entry, to be stored elsewhere.", "object", {
    of: {
      number: integer("Number of the entry.", NUMBER),
      hash: text("Hash of the entry, empty before the first entry.", { required: true, max: 64 }),
    },
  }),
  broken: computed("First entry that was changed; null if all are intact.", "object", {
    nullable: true,
    of: {
      number: integer("Number of the entry.", NUMBER),
      id: uuid("Id of the entry; null if it is missing."),
      at: timestamp("Time of the entry; null if unreadable."),
      reason: text("Description of the problem.", { required: true, max: 1_000 }),
      reasonSentence: sentenceField("Problem", "reason"),
    },
  }),
  finished: boolean("False if there are more entries after `last`.", { required: true }),
};

/** Verification of the audit hash chain, 20,000 entries per request. */
export const auditActions: readonly Action[] = [
  {
    method: "get",
    at: "audit/verification",
    doc: "Verifies the hash chain of the audit log and returns the first break.",
    query: QUERY,
    response: { kind: "members", fields: VERIFICATION_RESULT },
    async handle(request) {
      const { store, plugins } = request.deps;
      const after = startingPoint(request);
      const result = await store.audit.verify({ ...(after ? { after } : {}), maxEntries: MAX_ENTRIES });
      return jsonResponse(addSentences(VERIFICATION_RESULT, result, plugins.sentences));
    },
  },
];

function startingPoint({ query }: ApiRequest): AuditVerification["last"] | null {
  const given = textParameter(query, "after");
  if (given === null || given === "") return null;
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(given);
  if (!match) throw invalidValue("after", sentence("field.must-be-a-number-a-colon-and-a-hash-as"));
  return { number: Number(match[1]), hash: match[2] as string };
}
