import { signLink, verifyLink } from "../auth/signed-links.ts";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import optOuts from "../resources/messages/opt-outs.ts";
import notificationRecipients from "../resources/notifications/notification-recipients.ts";
import notifications from "../resources/notifications/notifications.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, Store, StoreReader, Sync, Transaction } from "../store/store.ts";

/** Reason that a preview gives for the devices of recipients who opted out. */
export const DECLINED_REASON = sentence("delivery.declined");

/**
 * SQL condition: recipients may opt out of message `n` of template `t`. Never an emergency or its drill, whatever the
 * template says; nor a follow-up of an emergency, a message of an incident or one that starts an incident, nor an
 * all-clear. The template's current setting counts, so it can be revoked. @source docs/decisions/0103-people.md,
 * Opt-outs
 */
export const MAY_DECLINE_SQL = `(t.opt_out IS 1 AND n.priority_level > 0 AND n.incident_pk IS NULL AND n.incident_plan_pk IS NULL
  AND coalesce(n.alert_tone, '') NOT LIKE 'all-clear%'
  AND NOT EXISTS (
    WITH RECURSIVE before(pk) AS (
      SELECT n.parent_notification_pk
      UNION SELECT b.parent_notification_pk FROM before JOIN notifications b ON b.pk = before.pk
    ) SELECT 1 FROM before JOIN notifications e ON e.pk = before.pk WHERE e.priority_level = 0))`;

/** Internal key of the template whose opt-outs apply to a message; null for a message that goes to everyone. */
export function declinableTemplatePk(
  reader: StoreReader,
  { pk }: Pick<RowOf<typeof notifications>, "pk">,
): number | null {
  const found = reader.one<{ pk: number }>(
    `SELECT t.pk FROM notifications n JOIN message_templates t ON t.pk = n.message_template_pk
     WHERE n.pk = ? AND ${MAY_DECLINE_SQL}`,
    pk,
  );
  return found?.pk ?? null;
}

/** SQL condition: user `u` has opted out of the template whose key is bound. */
export const HAS_DECLINED_SQL =
  "EXISTS (SELECT 1 FROM opt_outs o WHERE o.user_pk = u.pk AND o.message_template_pk = ?)";

/** The users, by internal key, who have opted out of a template. */
export function filterDecliners(reader: StoreReader, template: number, users: readonly number[]): Set<number> {
  const found = reader.all<{ pk: number }>(
    `SELECT u.pk FROM users u WHERE u.pk IN (SELECT value FROM json_each(?)) AND ${HAS_DECLINED_SQL}`,
    ...[JSON.stringify(users), template],
  );
  return new Set(found.map(({ pk }) => pk));
}

/** Adds whether the opt-outs take effect; one query per page. */
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
 * Opts a user out of further messages of a message's template; repeating it has no effect. Resolves after COMMIT.
 * Throws not-found for a user who is not a recipient, conflict for a message without opt-out.
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
    throw new ConflictError(sentence("conflict.you-cannot-opt-out-of-messages-like-this-one"));
  }
  const [known] = tx.find(optOuts, { userId, messageTemplateId }, 1);
  return known ?? tx.create(optOuts, { userId }, by, { messageTemplateId, subject });
}

/** State of an opt-out link, as its holder may see it. */
export interface DeclineLinkState {
  subject: string;
  /** The recipient has opted out already. */
  isDeclined: boolean;
}

/** Public pages on which recipients opt out without an account, by an unguessable signed link. */
export interface DeclineLinks {
  /** Null for a link that is invalid, expired, or whose message no longer allows opt-out. */
  find(token: string): DeclineLinkState | null;
  /** Opts the recipient out. Throws not-found where `find` returns null. */
  decline(token: string): Promise<void>;
}

/** Mail is read late: the link outlives the time in which answers are accepted. */
const LINK_TTL_MS = 30 * 86_400_000;

/** URL of the opt-out page; `recipientId` is the id of the recipient row. */
export function declineLink(recipientId: string, baseUrl: string, store: Pick<Store, "secrets">): string {
  return `${baseUrl}/decline/${signLink("decline", recipientId, store)}`;
}

/** Creates the handler of opt-out links. A link is valid for 30 days after its message was sent. */
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
