import { type AccountLock, isAccountLocked } from "../auth/account-lock.ts";
import type { Clock } from "../lib/clock.ts";
import type distributionLists from "../resources/lists/distribution-lists.ts";
import type subscriptions from "../resources/people/subscriptions.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks } from "../store/store.ts";

type Campaign = NonNullable<RowOf<typeof distributionLists>["campaign"]>;

/**
 * Adds the URL of the enrolment page, `<appliance>/join/<list id>`, to a list with a campaign. It is computed on
 * reading because the appliance's base URL may change.
 */
export function distributionListHooks(baseUrl: () => string): ResourceHooks<typeof distributionLists> {
  return {
    present: (rows) =>
      rows.map(({ id, campaign }) => ({
        ...(campaign ? { campaign: serializeCampaign(campaign, `${baseUrl()}/join/${id}`) } : {}),
      })),
  };
}

function serializeCampaign(campaign: Campaign, url: string): Record<string, unknown> {
  const { welcomeMessage, inactiveMessage, subscribeTag, defaultNotificationDays, enrollmentEndDate: end } = campaign;
  return {
    welcomeMessage: welcomeMessage ?? null,
    inactiveMessage: inactiveMessage ?? null,
    url,
    subscribeTag: subscribeTag ?? null,
    defaultNotificationDays: defaultNotificationDays ?? null,
    enrollmentEndDate: end === null || end === undefined ? null : new Date(end).toISOString(),
  };
}

/** Adds to each subscription whether its user is locked; one query per page. */
export function subscriptionHooks(clock: Clock): ResourceHooks<typeof subscriptions> {
  return {
    present(rows, { reader }) {
      const lines = reader.all<{ id: string; lock: string }>(
        "SELECT id, lock FROM users WHERE id IN (SELECT value FROM json_each(?)) AND lock IS NOT NULL",
        JSON.stringify(rows.map(({ userId }) => userId)),
      );
      const locks = new Map(lines.map(({ id, lock }) => [id, JSON.parse(lock) as AccountLock]));
      return rows.map(({ userId }) => ({ userIsLocked: isAccountLocked(locks.get(userId) ?? null, clock.now()) }));
    },
  };
}
