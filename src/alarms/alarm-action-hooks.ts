import { validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { RECIPIENT_FIELDS } from "../notifications/compose/message-builder.ts";
import type alarmActions from "../resources/alarms/alarm-actions.ts";
import type { ActorContext, ResourceHooks } from "../store/store.ts";
import { ensureAdministrationList } from "./administration-list.ts";

/** Recipients require a template; without one the administration list is notified. @source docs/decisions/0013-other-resources.md, Alarms */
export function alarmActionHooks(systemBy: () => ActorContext): ResourceHooks<typeof alarmActions> {
  return {
    beforeWrite({ after }) {
      if (!after || after.messageTemplateId !== null) return;
      const named = ACTION_RECIPIENTS.filter((field) => after[field].length > 0);
      const message = sentence("field.must-be-empty-unless-messagetemplateid-is-set");
      if (named.length > 0) throw validationError(named.map((field) => ({ field, type: "invalid-value", message })));
    },
    afterWrite({ after }, tx, by) {
      // The list is replicated by itself.
      if (after?.messageTemplateId === null && !by.replicated) ensureAdministrationList(tx, systemBy());
    },
  };
}

/** Fields that name the recipients of an action. */
const ACTION_RECIPIENTS = [
  "areaOfInterestIds",
  "collaborationGroupIds",
  "deviceGroupIds",
  "distributionListIds",
  "userIds",
] as const satisfies readonly (typeof RECIPIENT_FIELDS)[number][];
