import { type Fault, faulty } from "../base/errors.ts";
import type boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import type { Behaviour } from "../store/store.ts";

/** A trigger that notifies somebody needs something to say: a template, or a subject of its own. @source decisions.md 5 */
export const boundaryTriggerBehaviour: Behaviour<typeof boundaryTriggers> = {
  beforeWrite({ after }) {
    if (!after || after.notificationAction === "send-to-none") return;
    const faults: Fault[] = [];
    if (!after.messageTemplateId && !after.subject) {
      faults.push(wrong("messageTemplateId", "A notification needs a template or a subject."));
      faults.push(wrong("subject", "A notification needs a template or a subject."));
    } else if (!after.messageTemplateId && after.notificationAction === "send-to-message-template-recipients") {
      faults.push(wrong("messageTemplateId", "Its recipients are to be notified."));
    }
    if (faults.length > 0) throw faulty(faults);
  },
};

function wrong(field: string, words: string): Fault {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${words}` };
}
