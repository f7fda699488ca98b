import { type FieldError, invalidValue, validationError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import type dynamicReplies from "../../resources/confirmations/dynamic-replies.ts";
import type escalationRules from "../../resources/confirmations/escalation-rules.ts";
import type { FileStore, ResourceHooks, StoreReader } from "../../store/store.ts";
import { requirePlayable } from "../compose/message-template-hooks.ts";
import { serializeConfirmationRequests } from "./confirmation-serializer.ts";

/**
 * Hooks of requests: answers are distinct, ignoring case, and there are not more tracking flags than answers. An answer
 * that replies or escalation rules refer to cannot be removed.
 */
export const confirmationRequestHooks: ResourceHooks<typeof confirmationRequests> = {
  beforeWrite({ before, after }, tx) {
    if (!after) return;
    const seen = new Set(after.options.map((option) => option.toLowerCase()));
    const faults: FieldError[] = [];
    if (seen.size < after.options.length)
      faults.push(invalidField("options", sentence("field.the-answers-must-be-distinct")));
    if ((after.initiateTrackingOptions ?? []).length > after.options.length) {
      faults.push(invalidField("initiateTrackingOptions", sentence("field.there-must-not-be-more-flags-than-answers")));
    }
    const lost = before ? optionsInUse(tx, before.pk).find((label) => !after.options.includes(label)) : undefined;
    if (lost !== undefined)
      faults.push(
        invalidField(
          "options",
          sentence("field.dynamic-replies-or-escalation-rules-still-refer-to-option", { option: JSON.stringify(lost) }),
        ),
      );
    if (faults.length > 0) throw validationError(faults);
  },
  present: serializeConfirmationRequests,
};

/** Hooks of replies: a reply belongs to one of its request's answers. */
export const dynamicReplyHooks: ResourceHooks<typeof dynamicReplies> = {
  beforeWrite: ({ after }, tx) => requireKnownOption(after, tx),
};

/**
 * Hooks of rules: a rule counts one of its request's answers, and its recording can be played. `files` is called once
 * the store is open.
 */
export function escalationRuleHooks(files: () => FileStore): ResourceHooks<typeof escalationRules> {
  return {
    prepare: (input) => requirePlayable(input, files()),
    beforeWrite: ({ after }, tx) => requireKnownOption(after, tx),
  };
}

function invalidField(field: string, detail: string): FieldError {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
}

function requireKnownOption(
  after: { confirmationRequestId: string; optionLabel: string } | null,
  tx: StoreReader,
): void {
  if (!after) return;
  const request = tx.get(confirmationRequests, after.confirmationRequestId);
  if (request && !request.options.includes(after.optionLabel)) {
    throw invalidValue("optionLabel", sentence("field.must-be-one-of-the-request-s-options"));
  }
}

function optionsInUse(reader: StoreReader, requestPk: number): string[] {
  return reader
    .all<{ label: string }>(
      `SELECT option_label AS label FROM dynamic_replies WHERE confirmation_request_pk = ?
       UNION SELECT option_label FROM escalation_rules WHERE confirmation_request_pk = ?`,
      requestPk,
      requestPk,
    )
    .map(({ label }) => label);
}
