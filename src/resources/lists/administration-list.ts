import { derivedId } from "../../lib/ids.ts";

/** Id of the distribution list that alarm actions without a template notify; the same on every side. */
export const ADMINISTRATION_LIST_ID = derivedId("distribution-list", "administration");

/** Id of the subscription of a user that comes with the list, so that every side makes the same one. */
export const administrationSubscriptionId = (userId: string): string =>
  derivedId("subscription", ADMINISTRATION_LIST_ID, userId);
