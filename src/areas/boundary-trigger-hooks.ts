import { type FieldError, validationError } from "../lib/errors.ts";
import type boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import type { ResourceHooks } from "../store/store.ts";

/** A trigger that notifies somebody needs something to say: a template, or a subject of its own. @source decisions.md 5 */
export const boundaryTriggerHooks: ResourceHooks<typeof boundaryTriggers> = {
  beforeWrite({ after }) {
    if (!after || after.notificationAction === "send-to-none") return;
    const faults: FieldError[] = [];
    if (!after.messageTemplateId && !after.subject) {
      faults.push(fieldError("messageTemplateId", "A notification needs a template or a subject."));
      faults.push(fieldError("subject", "A notification needs a template or a subject."));
    } else if (!after.messageTemplateId && after.notificationAction === "send-to-message-template-recipients") {
      faults.push(fieldError("messageTemplateId", "Its recipients are to be notified."));
    }
    if (faults.length > 0) throw validationError(faults);
  },
};

function fieldError(field: string, words: string): FieldError {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${words}` };
}
