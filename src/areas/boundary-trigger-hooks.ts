import { type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import type { ResourceHooks } from "../store/store.ts";

/** A trigger that notifies needs content: a template, or its own subject. @source docs/decisions/0005-users-and-devices.md, Boundary triggers */
export const boundaryTriggerHooks: ResourceHooks<typeof boundaryTriggers> = {
  beforeWrite({ after }) {
    if (!after || after.notificationAction === "send-to-none") return;
    const errors: FieldError[] = [];
    if (!after.messageTemplateId && !after.subject) {
      errors.push(
        fieldError("messageTemplateId", sentence("field.must-be-set-unless-subject-is-set-because-the-trigger")),
      );
      errors.push(
        fieldError("subject", sentence("field.must-be-set-unless-messagetemplateid-is-set-because-the-trigger")),
      );
    } else if (!after.messageTemplateId && after.notificationAction === "send-to-message-template-recipients") {
      errors.push(fieldError("messageTemplateId", sentence("field.must-be-set-because-its-recipients-are-notified")));
    }
    if (errors.length > 0) throw validationError(errors);
  },
};

function fieldError(field: string, detail: string): FieldError {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
}
