import { computed, internal, ref, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Who is on which list, seen from either side.
 * @source service-api.md, Subscription and Limits; digest `/v1/users/{userId}/subscriptions`, `/v1/distribution-lists/{distributionListId}/user-subscriptions`
 */
export default defineResource({
  name: "subscriptions",
  doc: "A user's place on a distribution list.",
  paths: [{ at: "users/{userId}/subscriptions" }, { at: "distribution-lists/{distributionListId}/user-subscriptions" }],
  idParam: "subscriptionId",
  scope: "parent",
  replicate: "B",
  limit: { most: 100_000, per: "distributionListId", until: "subscriptionEndDate" },
  unique: [["userId", "distributionListId"]],
  indexes: [
    ["distributionListId", "userId"],
    ["distributionListId", "subscriptionEndDate"],
  ],
  fields: {
    userId: ref("User on the list.", "users", {
      required: true,
      createOnly: true,
      embed: "user",
      onDelete: "cascade",
    }),
    distributionListId: ref("List the user is on.", "distribution-lists", {
      required: true,
      createOnly: true,
      embed: "distributionList",
      onDelete: "cascade",
    }),
    subscriptionEndDate: timestamp(
      "Moment from which the list no longer reaches the user; null for no end. own choice: an ended one is listed still, so that it can go on, and counts against no limit.",
    ),
    loadSource: internal("Id of the load definition that put the user on the list.", "text"),
    userIsLocked: computed("Whether the user's account is locked at this moment.", "boolean"),
  },
});
