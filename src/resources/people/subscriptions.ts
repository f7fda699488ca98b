import { computed, internal, ref, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Subscriptions of users to lists, from both sides.
 * @source docs/decisions/0042-api-contract.md, `/v1/users/{userId}/subscriptions`,
 * `/v1/distribution-lists/{distributionListId}/user-subscriptions`
 */
export default defineResource({
  name: "subscriptions",
  doc: "A user's membership in a distribution list.",
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
      "End of the subscription; null for none. An ended subscription is still listed, can be renewed, and does not count against the limit.",
    ),
    loadSource: internal("Id of the load definition that created the subscription.", "text"),
    userIsLocked: computed("Whether the account of the user is currently locked.", "boolean"),
  },
});
