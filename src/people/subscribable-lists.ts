import { ConflictError, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import type { AccessScope, ActorContext, Store, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import { subscribeUser } from "./enrollment.ts";

/** A list that users may join themselves, and whether a user is subscribed. */
export interface SubscribableList {
  userId: string;
  distributionListId: string;
  distributionListName: string;
  /** Home domain of the list. */
  domainId: string | null;
  subscribed: boolean;
  createdAt: string;
}

interface SubscribableListRow extends Record<string, string | number | null> {
  id: string;
  name: string;
  domain: string | null;
  made: number;
  /** 1 while the user is subscribed. */
  held: number;
}

export interface SubscribableListQuery {
  user: { id: string; pk: number };
  scope: AccessScope;
  /** Epoch ms. */
  now: number;
  listId?: string;
}

/**
 * The self-service lists visible in the acting domain, by name; all of them or the requested one. @source
 * docs/decisions/0042-api-contract.md
 */
export function findSubscribableLists(
  reader: StoreReader,
  { user, scope, now, listId }: SubscribableListQuery,
): SubscribableList[] {
  const { sql: seen, params } = buildVisibilitySql(scope.domainVisibility.visible(distributionLists));
  const lines = reader.all<SubscribableListRow>(
    `SELECT t.id, t.name, t.created_at AS made,
       (SELECT d.id FROM domains d WHERE d.pk = t.domain_pk) AS domain,
       EXISTS (SELECT 1 FROM subscriptions s WHERE s.distribution_list_pk = t.pk AND s.user_pk = ?
         AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?)) AS held
     FROM distribution_lists t WHERE t.is_subscribable = 1 AND (? IS NULL OR t.id = ?) AND ${seen}
     ORDER BY t.name COLLATE NOCASE, t.id`,
    ...[user.pk, now, listId ?? null, listId ?? null, ...params],
  );
  return lines.map(({ id, name, domain, made, held }) => ({
    ...{ userId: user.id, distributionListId: id, distributionListName: name, domainId: domain },
    ...{ subscribed: held === 1, createdAt: new Date(made).toISOString() },
  }));
}

/**
 * Subscribes a user to a self-service list for the campaign's days, or unsubscribes the user. Needs no permission on
 * subscriptions, since the list is open. Throws not-found, and conflict once enrolment has ended.
 */
export async function setSubscribed(
  store: Store,
  query: SubscribableListQuery & { listId: string; subscribe: boolean },
  by: ActorContext,
): Promise<void> {
  const { user, now, listId, subscribe } = query;
  await store.write((tx) => {
    const [found] = findSubscribableLists(tx, query);
    const list = found && tx.get(distributionLists, listId);
    if (!found || !list) throw notFound();
    const [held] = tx.find(subscriptions, { userId: user.id, distributionListId: listId }, 1);
    if (!subscribe) {
      if (held) tx.remove(subscriptions, held.id, by);
      return;
    }
    const end = list.campaign?.enrollmentEndDate ?? null;
    if (!found.subscribed && end !== null && end <= now) {
      throw new ConflictError(list.campaign?.inactiveMessage ?? sentence("conflict.enrolment-in-this-list-has-ended"));
    }
    subscribeUser(tx, list, user.id, { by, now });
  });
}
