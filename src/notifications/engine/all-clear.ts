import { ConflictError, notFound } from "../../lib/errors.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext } from "../../store/store.ts";
import { composeAllClear } from "../compose/follow-ups.ts";
import type { NotificationService } from "../notification-service.ts";
import type { EngineDeps } from "./broadcast-activator.ts";
import { accept } from "./stages/accept.ts";

/** What sending the all-clear needs. */
export interface AllClearDeps extends EngineDeps {
  /** Ends a message that still goes on. */
  abort(notificationId: string, by: ActorContext): Promise<unknown>;
  /** Carries a message out. */
  run(notificationId: string): void;
}

/** Whether an all-clear has gone out after the last of these messages; one that was stopped, or is refused, did not. */
const ALL_CLEAR_SENT_SQL = `SELECT 1 FROM notifications c
  WHERE c.parent_notification_pk IN (SELECT pk FROM notifications WHERE id IN (SELECT value FROM json_each(?)))
    AND c.alert_tone LIKE 'all-clear%' AND c.draft = 0 AND c.aborted_at IS NULL
    AND coalesce(c.approval, '') NOT IN ('refused', 'expired')
    AND c.pk > (SELECT max(pk) FROM notifications WHERE id IN (SELECT value FROM json_each(?)) AND pk <> c.pk
      AND coalesce(alert_tone, '') NOT LIKE 'all-clear%')
  LIMIT 1`;

/**
 * Makes the sending of all-clears. own choice: a second one, such as of somebody who pressed at the same moment, is refused
 * unless it is meant.
 */
export function createAllClearSender(needs: AllClearDeps): NotificationService["sendAllClear"] {
  const { store } = needs;
  /** Messages whose all-clear is being stored. */
  const under = new Set<string>();
  return async (notificationId, words, by, { source, alsoFor = [], again = false }) => {
    const before = store.get(notifications, notificationId, by.scope);
    if (!before) throw notFound();
    if (before.draft) throw new ConflictError("A preview was not sent: there is nothing to be clear of.");
    if (before.approval !== null && before.approval !== "approved") {
      throw new ConflictError("The message was not sent: there is nothing to be clear of.");
    }
    const over = [before.id, ...alsoFor.filter((id) => id !== before.id)];
    const ids = JSON.stringify(over);
    if (!again && (over.some((id) => under.has(id)) || store.one(ALL_CLEAR_SENT_SQL, ids, ids))) {
      throw new ConflictError("The all-clear has been sent. With `again` it is sent once more.", "again");
    }
    for (const id of over) under.add(id);
    try {
      const row = await accept(composeAllClear(before, words), by, { source, sameRecipientsAs: over }, needs);
      // It goes to the same devices, which would keep it waiting.
      const asSender = { actor: by.actor, scope: needs.by.scope };
      for (const id of over) {
        if (store.get(notifications, id)?.stage !== "settled") await needs.abort(id, asSender);
      }
      needs.run(row.id);
      return row;
    } finally {
      for (const id of over) under.delete(id);
    }
  };
}
