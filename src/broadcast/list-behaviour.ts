import type distributionLists from "../resources/lists/distribution-lists.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Behaviour } from "../store/store.ts";

type Campaign = NonNullable<RowOf<typeof distributionLists>["campaign"]>;

/**
 * A list with a campaign has the address of its enrolment page, which follows from the list and where the appliance is
 * reached, so it is made when the list is shown. own choice: `<appliance>/join/<list id>`.
 */
export function distributionListBehaviour(baseUrl: () => string): Behaviour<typeof distributionLists> {
  return {
    present: (rows) =>
      rows.map(({ id, campaign }) => ({
        syncId: null,
        ...(campaign ? { campaign: campaignForm(campaign, `${baseUrl()}/join/${id}`) } : {}),
      })),
  };
}

function campaignForm(campaign: Campaign, url: string): Record<string, unknown> {
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
