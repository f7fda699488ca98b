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

export type TriggerActionDeps = SystemMessageDeps;

/** A fired trigger whose action is pending. */
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

/** Runs pending actions in order; one that fails is retried at the next run and does not block the others. */
export function runPendingTriggerActions(deps: TriggerActionDeps, signal: AbortSignal): Promise<void> {
  const failed = (err: unknown, { trigger }: PendingTriggerAction): void =>
    deps.log.error({ event: "area.trigger_failed", err, boundaryTriggerId: trigger }, "boundary trigger failed, retrying");
  return drainQueue<PendingTriggerAction>(
    deps,
    { next: SELECT_NEXT_PENDING, take: (pending) => runTriggerAction(pending, deps), failed },
    signal,
  );
}

/** Notification and activity are two transactions: after a crash the idempotency key shows that the notification was sent. */
async function runTriggerAction(pending: PendingTriggerAction, deps: TriggerActionDeps): Promise<void> {
  const { store, by } = deps;
  const trigger = store.get(boundaryTriggers, pending.trigger);
  const notificationId = trigger && (await sendTriggerMessage(trigger, pending, deps));
  await store.write((tx) => {
    tx.run("DELETE FROM area_pending_actions WHERE pk = ?", pending.pk);
    const still = tx.get(boundaryTriggers, pending.trigger);
    if (!still) return;
    const reached = notificationId !== null && hasRecipients(notificationId, deps);
    tx.create(boundaryTriggerActivities, {}, by, {
      areaOfInterestId: still.areaOfInterestId,
      boundaryTriggerId: still.id,
      reason: pending.reason,
      status: reached ? "success" : "no-recipients",
      deviceId: tx.one("SELECT 1 FROM user_devices WHERE id = ?", pending.device) ? pending.device : null,
      userId: tx.one("SELECT 1 FROM users WHERE id = ?", pending.user) ? pending.user : null,
      notificationId,
    });
  });
}

/** Id of the notification; null if the trigger does not notify or the notification was refused. */
function sendTriggerMessage(
  trigger: TriggerRow,
  pending: PendingTriggerAction,
  deps: TriggerActionDeps,
): Promise<string | null> {
  const { store, log } = deps;
  const options = { source: "area-of-interest-boundary-trigger", overrules: true } as const;
  const compose = () => {
    const input = buildTriggerMessage(trigger, pending, store);
    return input && { input, options, domainId: domainOfMessage(trigger, pending, store) };
  };
  return sendSystemMessageOnce(deps, { owner: "areas", key: pending.id }, compose, (err) =>
    log.warn({ event: "area.trigger_refused", err, boundaryTriggerId: trigger.id }, "boundary trigger not sent: no recipients"),
  );
}

/**
 * Domain of the notification, since areas belong to the organisation: the template's, else the user's; null if neither has
 * one. @source docs/decisions/0202-areas-of-interest.md
 */
function domainOfMessage(trigger: TriggerRow, { user }: PendingTriggerAction, store: Store): string | null {
  const template = trigger.messageTemplateId ? store.get(messageTemplates, trigger.messageTemplateId) : null;
  if (template) return template.domainId ?? null;
  return store.get(users, user)?.domainId ?? null;
}

/** Templates may use `{{area}}`, `{{user}}` and `{{crossing}}`. */
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

/** A notification to empty lists and areas has no recipients. */
function hasRecipients(notificationId: string, { store }: TriggerActionDeps): boolean {
  const row = store.one<{ pk: number; others: number }>(
    `SELECT pk, EXISTS (SELECT 1 FROM notifications__device_group_ids g WHERE g.owner = n.pk)
       OR EXISTS (SELECT 1 FROM notifications__collaboration_group_ids c WHERE c.owner = n.pk) AS others
     FROM notifications n WHERE id = ?`,
    notificationId,
  );
  return row !== null && (row.others === 1 || !hasAtMostUsers(store, row.pk, 0));
}
