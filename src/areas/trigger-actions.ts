import { RECIPIENT_FIELDS } from "../notifications/compose/message-builder.ts";
import { drainQueue, type SystemMessageDeps, sendSystemMessageOnce } from "../notifications/engine/system-messages.ts";
import { hasAtMostUsers } from "../notifications/recipients/recipient-writer.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import boundaryTriggerActivities from "../resources/areas/boundary-trigger-activities.ts";
import boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Store } from "../store/store.ts";

/** What taking the actions of triggers needs. */
export type TriggerActionDeps = SystemMessageDeps;

/** A trigger that fired and whose action is still to be taken. */
interface PendingTriggerAction {
  pk: number;
  id: string;
  trigger: string;
  user: string;
  device: string;
  reason: "entered" | "exited";
}

type TriggerRow = RowOf<typeof boundaryTriggers>;

const SELECT_NEXT_PENDING =
  "SELECT pk, id, trigger, user, device, reason FROM area_pending_actions WHERE pk > ? ORDER BY pk LIMIT 1";

/** Takes the actions that are waiting, one by one in order; one that fails stays for the next time and holds up nobody. */
export function runPendingTriggerActions(needs: TriggerActionDeps, signal: AbortSignal): Promise<void> {
  const failed = (err: unknown, { trigger }: PendingTriggerAction): void =>
    needs.log.error({ err, boundaryTriggerId: trigger }, "a boundary trigger could not act");
  return drainQueue<PendingTriggerAction>(
    needs,
    { next: SELECT_NEXT_PENDING, take: (firing) => runTriggerAction(firing, needs), failed },
    signal,
  );
}

/** The message and the account of it are two transactions: the key of the first tells after a crash that it was sent. */
async function runTriggerAction(firing: PendingTriggerAction, needs: TriggerActionDeps): Promise<void> {
  const { store, by } = needs;
  const trigger = store.get(boundaryTriggers, firing.trigger);
  const notificationId = trigger && (await sendTriggerMessage(trigger, firing, needs));
  await store.write((tx) => {
    tx.run("DELETE FROM area_pending_actions WHERE pk = ?", firing.pk);
    const still = tx.get(boundaryTriggers, firing.trigger);
    if (!still) return;
    const reached = notificationId !== null && hasRecipients(notificationId, needs);
    tx.create(boundaryTriggerActivities, {}, by, {
      areaOfInterestId: still.areaOfInterestId,
      boundaryTriggerId: still.id,
      reason: firing.reason,
      status: reached ? "success" : "no-recipients",
      deviceId: tx.one("SELECT 1 FROM user_devices WHERE id = ?", firing.device) ? firing.device : null,
      userId: tx.one("SELECT 1 FROM users WHERE id = ?", firing.user) ? firing.user : null,
      notificationId,
    });
  });
}

/** Id of the notification; null where nobody is to be notified, which is also what happens when nothing can be sent. */
function sendTriggerMessage(
  trigger: TriggerRow,
  firing: PendingTriggerAction,
  needs: TriggerActionDeps,
): Promise<string | null> {
  const { store, log } = needs;
  const options = { source: "area-of-interest-boundary-trigger", overrules: true } as const;
  const compose = () => {
    const input = buildTriggerMessage(trigger, firing, store);
    return input && { input, options, domainId: domainOfMessage(trigger, firing, store) };
  };
  return sendSystemMessageOnce(needs, { owner: "areas", key: firing.id }, compose, (err) =>
    log.warn({ err, boundaryTriggerId: trigger.id }, "a boundary trigger had nobody to notify"),
  );
}

/**
 * Domain whose people see the message, since areas are the organisation's. own choice: the template's, else that of who
 * crossed; null for neither.
 */
function domainOfMessage(trigger: TriggerRow, { user }: PendingTriggerAction, store: Store): string | null {
  const template = trigger.messageTemplateId ? store.get(messageTemplates, trigger.messageTemplateId) : null;
  if (template) return template.domainId ?? null;
  return store.get(users, user)?.domainId ?? null;
}

/** own choice: `{{area}}`, `{{user}}` and `{{crossing}}` stand for the names and the kind of crossing. */
function buildTriggerMessage(
  trigger: TriggerRow,
  { user, reason }: PendingTriggerAction,
  store: Store,
): Record<string, unknown> | null {
  if (trigger.notificationAction === "send-to-none") return null;
  const person = store.get(users, user);
  const area = store.get(areasOfInterest, trigger.areaOfInterestId);
  const message: Record<string, unknown> = {
    customVars: { area: area?.name ?? "", user: person?.name ?? person?.email ?? "", crossing: reason },
  };
  if (trigger.messageTemplateId) message.messageTemplateId = trigger.messageTemplateId;
  if (trigger.subject) message.subject = trigger.subject;
  if (trigger.body) message.body = trigger.body;
  if (trigger.notificationAction !== "send-to-user") return message;
  if (!person) return null;
  for (const field of RECIPIENT_FIELDS) message[field] = field === "userIds" ? [user] : [];
  return message;
}

/** own choice: what is sent to lists and areas that hold nobody has no recipients. */
function hasRecipients(notificationId: string, { store }: TriggerActionDeps): boolean {
  const row = store.one<{ pk: number; others: number }>(
    `SELECT pk, EXISTS (SELECT 1 FROM notifications__device_group_ids g WHERE g.owner = n.pk)
       OR EXISTS (SELECT 1 FROM notifications__collaboration_group_ids c WHERE c.owner = n.pk) AS others
     FROM notifications n WHERE id = ?`,
    notificationId,
  );
  return row !== null && (row.others === 1 || !hasAtMostUsers(store, row.pk, 0));
}
