import { ADMINISTRATION_LIST_ID, administrationSubscriptionId } from "../resources/lists/administration-list.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";

/**
 * Creates the administration's distribution list unless it exists: named Administration, in the root domain, with the members
 * of the super groups. After that it is an ordinary list. @source docs/decisions/0203-alarms-and-inputs.md, Alarms
 */
export function ensureAdministrationList(tx: Transaction, by: ActorContext): void {
  if (tx.get(distributionLists, ADMINISTRATION_LIST_ID)) return;
  const root = tx.one<{ id: string }>("SELECT id FROM domains WHERE parent_pk IS NULL ORDER BY pk LIMIT 1");
  const place = root ? { domainId: root.id } : {};
  const list = tx.create(distributionLists, { name: "Administration" }, by, { id: ADMINISTRATION_LIST_ID, ...place });
  for (const userId of administrators(tx)) {
    // Each side may create the list before it hears of the other one.
    const id = administrationSubscriptionId(userId);
    tx.create(subscriptions, { userId, distributionListId: list.id }, by, { id });
  }
}

/** Fallback if the list is empty or deleted: ids of the users with all permissions. */
export function administrators(reader: StoreReader): string[] {
  const lines = reader.all<{ id: string }>(
    `SELECT DISTINCT u.id FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     JOIN users u ON u.pk = m.user_pk WHERE g.super_group = 1 ORDER BY u.pk LIMIT 1000`,
  );
  return lines.map(({ id }) => id);
}
