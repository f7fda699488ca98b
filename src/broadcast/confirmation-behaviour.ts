import { type Fault, faulty, invalidValue } from "../base/errors.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import type dynamicReplies from "../resources/confirmations/dynamic-replies.ts";
import type escalationRules from "../resources/confirmations/escalation-rules.ts";
import type { Behaviour, FileStore, Reader } from "../store/store.ts";
import { presentRequests } from "./confirmation-presentation.ts";
import { requirePlayable } from "./template-behaviour.ts";

/**
 * Answers are distinct, whatever their case, and there are not more tracking flags than answers. own choice: an answer
 * that replies or rules refer to can't be taken away.
 */
export const confirmationRequestBehaviour: Behaviour<typeof confirmationRequests> = {
  beforeWrite({ before, after }, tx) {
    if (!after) return;
    const seen = new Set(after.options.map((option) => option.toLowerCase()));
    const faults: Fault[] = [];
    if (seen.size < after.options.length) faults.push(wrong("options", "Each answer can be given once."));
    if ((after.initiateTrackingOptions ?? []).length > after.options.length) {
      faults.push(wrong("initiateTrackingOptions", "One flag per answer."));
    }
    const lost = before ? labelsInUse(tx, before.pk).find((label) => !after.options.includes(label)) : undefined;
    if (lost !== undefined) faults.push(wrong("options", `Replies or rules still refer to ${JSON.stringify(lost)}.`));
    if (faults.length > 0) throw faulty(faults);
  },
  present: presentRequests,
};

/** A reply is to one of its request's answers. */
export const dynamicReplyBehaviour: Behaviour<typeof dynamicReplies> = {
  beforeWrite: ({ after }, tx) => checkLabel(after, tx),
};

/** A rule counts one of its request's answers, and its recording can be played. `files` is called once the store is open. */
export function escalationRuleBehaviour(files: () => FileStore): Behaviour<typeof escalationRules> {
  return {
    prepare: (input) => requirePlayable(input, files()),
    beforeWrite: ({ after }, tx) => checkLabel(after, tx),
  };
}

function wrong(field: string, detail: string): Fault {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
}

function checkLabel(after: { confirmationRequestId: string; optionLabel: string } | null, tx: Reader): void {
  if (!after) return;
  const request = tx.get(confirmationRequests, after.confirmationRequestId);
  if (request && !request.options.includes(after.optionLabel)) {
    throw invalidValue("optionLabel", "It must be one of the request's options.");
  }
}

function labelsInUse(reader: Reader, requestPk: number): string[] {
  return reader
    .all<{ label: string }>(
      `SELECT option_label AS label FROM dynamic_replies WHERE confirmation_request_pk = ?
       UNION SELECT option_label FROM escalation_rules WHERE confirmation_request_pk = ?`,
      requestPk,
      requestPk,
    )
    .map(({ label }) => label);
}
