import { ConflictError, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext } from "../../store/store.ts";
import { composeAllClear } from "../compose/follow-ups.ts";
import type { NotificationService } from "../notification-service.ts";
import type { EngineDeps } from "./broadcast-activator.ts";
import { accept } from "./stages/accept.ts";

export interface AllClearDeps extends EngineDeps {
  /** Ends a message in progress. */
  abort(notificationId: string, by: ActorContext): Promise<unknown>;
  /** Carries a message out. */
  run(notificationId: string): void;
}

/** Whether an all-clear was sent after the last of these messages; a stopped or refused one does not count. */
const ALL_CLEAR_SENT_SQL = `SELECT 1 FROM notifications c
  WHERE c.parent_notification_pk IN (SELECT pk FROM notifications WHERE id IN (SELECT value FROM json_each(?)))
    AND c.alert_tone LIKE 'all-clear%' AND c.draft = 0 AND c.aborted_at IS NULL
    AND coalesce(c.approval, '') NOT IN ('refused', 'expired')
    AND c.pk > (SELECT max(pk) FROM notifications WHERE id IN (SELECT value FROM json_each(?)) AND pk <> c.pk
      AND coalesce(alert_tone, '') NOT LIKE 'all-clear%')
  LIMIT 1`;

/**
 * Creates the sender of all-clears. A second one, such as that of two users at the same moment, is rejected unless
 * requested with `again`.
 */
export function createAllClearSender(deps: AllClearDeps): NotificationService["sendAllClear"] {
  const { store } = deps;
  /** Messages whose all-clear is being stored. */
  const inProgress = new Set<string>();
  return async (notificationId, text, by, { source, alsoFor = [], again = false }) => {
    const before = store.get(notifications, notificationId, by.scope);
    if (!before) throw notFound();
    if (before.draft) throw new ConflictError(sentence("error.a-preview-was-not-sent-and-cannot-have-an-all-clear"));
    if (before.approval !== null && before.approval !== "approved") {
      throw new ConflictError(sentence("error.the-message-was-not-sent-and-cannot-have-an-all-clear"));
    }
    const over = [before.id, ...alsoFor.filter((id) => id !== before.id)];
    const ids = JSON.stringify(over);
    if (!again && (over.some((id) => inProgress.has(id)) || store.one(ALL_CLEAR_SENT_SQL, ids, ids))) {
      throw new ConflictError(
        sentence("error.the-all-clear-has-been-sent-already-use-again-to-send-it-once-more"),
        "again",
      );
    }
    for (const id of over) inProgress.add(id);
    try {
      const row = await accept(composeAllClear(before, text), by, { source, sameRecipientsAs: over }, deps);
      // It goes to the same devices, which would keep it waiting.
      const asSender = { actor: by.actor, scope: deps.by.scope };
      for (const id of over) {
        if (store.get(notifications, id)?.stage !== "settled") await deps.abort(id, asSender);
      }
      deps.run(row.id);
      return row;
    } finally {
      for (const id of over) inProgress.delete(id);
    }
  };
}
