import { signLink, verifyLink } from "../auth/signed-links.ts";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, notFound } from "../lib/errors.ts";
import optOuts from "../resources/messages/opt-outs.ts";
import notificationRecipients from "../resources/notifications/notification-recipients.ts";
import notifications from "../resources/notifications/notifications.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, Store, StoreReader, Sync, Transaction } from "../store/store.ts";

/** What a preview says of the devices of whoever has declined. */
export const DECLINED_REASON = "The recipient has declined messages of this template.";

/**
 * True, in SQL, of a message `n` of a template `t` that its recipients may decline. own choice: never an emergency, nor the
 * drill of one, however the template is set; nor what continues an emergency, belongs to an incident or starts one, nor an
 * all-clear. What the template says at the moment counts, so that it can be taken back.
 */
export const MAY_DECLINE_SQL = `(t.opt_out IS 1 AND n.priority_level > 0 AND n.incident_pk IS NULL AND n.incident_plan_pk IS NULL
  AND coalesce(n.alert_tone, '') NOT LIKE 'all-clear%'
  AND NOT EXISTS (
    WITH RECURSIVE before(pk) AS (
      SELECT n.parent_notification_pk
      UNION SELECT b.parent_notification_pk FROM before JOIN notifications b ON b.pk = before.pk
    ) SELECT 1 FROM before JOIN notifications e ON e.pk = before.pk WHERE e.priority_level = 0))`;

/** Internal key of the template whose decliners a message leaves out; null for a message that goes to everybody. */
export function declinableTemplatePk(reader: StoreReader, { pk }: Pick<RowOf<typeof notifications>, "pk">): number | null {
  const found = reader.one<{ pk: number }>(
    `SELECT t.pk FROM notifications n JOIN message_templates t ON t.pk = n.message_template_pk
     WHERE n.pk = ? AND ${MAY_DECLINE_SQL}`,
    pk,
  );
  return found?.pk ?? null;
}

/** True, in SQL, of a user `u` who has declined the template with the key that is bound. */
export const HAS_DECLINED_SQL =
  "EXISTS (SELECT 1 FROM opt_outs o WHERE o.user_pk = u.pk AND o.message_template_pk = ?)";

/** Those of some users, by internal key, who have declined a template. */
export function filterDecliners(reader: StoreReader, template: number, users: readonly number[]): Set<number> {
  const found = reader.all<{ pk: number }>(
    `SELECT u.pk FROM users u WHERE u.pk IN (SELECT value FROM json_each(?)) AND ${HAS_DECLINED_SQL}`,
    ...[JSON.stringify(users), template],
  );
  return new Set(found.map(({ pk }) => pk));
}

/** Shows whether the wishes are heeded; one query per page. */
export const optOutHooks: ResourceHooks<typeof optOuts> = {
  present(rows, { reader }) {
    const lines = reader.all<{ id: string }>(
      "SELECT id FROM message_templates WHERE opt_out = 1 AND id IN (SELECT value FROM json_each(?))",
      JSON.stringify(rows.map(({ messageTemplateId }) => messageTemplateId)),
    );
    const open = new Set(lines.map(({ id }) => id));
    return rows.map(({ messageTemplateId }) => ({ holds: open.has(messageTemplateId) }));
  },
};

/**
 * Declines further messages like one that a user got; does nothing when that was done. Resolves after COMMIT. Throws
 * not-found for whoever is no recipient, and a conflict for a message that can't be declined.
 */
export async function optOutOfTemplate(
  store: Store,
  { userId, notificationId }: { userId: string; notificationId: string },
  by: ActorContext,
): Promise<RowOf<typeof optOuts>> {
  return store.write((tx) => createOptOut(tx, { userId, notificationId }, by) as Sync<RowOf<typeof optOuts>>);
}

function createOptOut(
  tx: Transaction,
  { userId, notificationId }: { userId: string; notificationId: string },
  by: ActorContext,
): RowOf<typeof optOuts> {
  const [recipient] = tx.find(notificationRecipients, { notificationId, userId }, 1);
  const message = recipient && tx.get(notifications, notificationId);
  if (!message) throw notFound();
  const { messageTemplateId, subject } = message;
  if (messageTemplateId === null || declinableTemplatePk(tx, message) === null) {
    throw new ConflictError("Messages like this one can't be declined.");
  }
  const [known] = tx.find(optOuts, { userId, messageTemplateId }, 1);
  return known ?? tx.create(optOuts, { userId }, by, { messageTemplateId, subject });
}

/** What a link for declining is about, as its holder may see it. */
export interface DeclineLinkState {
  subject: string;
  /** It was declined before. */
  isDeclined: boolean;
}

/** Pages on which recipients decline messages without an account, by a link that nobody can guess. */
export interface DeclineLinks {
  /** Null for a text that is none of ours, that is too old, or whose message can't be declined any more. */
  find(token: string): DeclineLinkState | null;
  /** Declines. Throws not-found as `find` gives null. */
  decline(token: string): Promise<void>;
}

/** own choice: a mail is read late, and answers to a message end earlier than the wish to get no more of them. */
const LINK_TTL_MS = 30 * 86_400_000;

/** The page on which a recipient declines further messages; `recipientId` is the id of the recipient's row. */
export function declineLink(recipientId: string, baseUrl: string, store: Pick<Store, "secrets">): string {
  return `${baseUrl}/decline/${signLink("decline", recipientId, store)}`;
}

/** Makes the links' other side. own choice: a link is good for 30 days after its message was sent. */
export function createDeclineLinks({
  store,
  clock,
  by,
}: {
  store: Store;
  clock: Clock;
  by: ActorContext;
}): DeclineLinks {
  const placeOf = (token: string) => {
    const id = verifyLink("decline", token, store);
    const recipient = id === null ? null : store.get(notificationRecipients, id);
    const message = recipient && store.get(notifications, recipient.notificationId);
    if (!recipient?.userId || !message || message.createdAt + LINK_TTL_MS <= clock.now()) return null;
    return declinableTemplatePk(store, message) === null ? null : { userId: recipient.userId, message };
  };
  return {
    find(token) {
      const place = placeOf(token);
      if (!place) return null;
      const { userId, message } = place;
      const messageTemplateId = message.messageTemplateId as string;
      const isDeclined = store.count(optOuts, { userId, messageTemplateId }) > 0;
      return { subject: message.subject ?? "", isDeclined };
    },
    async decline(token) {
      const place = placeOf(token);
      if (!place) throw notFound();
      await optOutOfTemplate(store, { userId: place.userId, notificationId: place.message.id }, by);
    },
  };
}
