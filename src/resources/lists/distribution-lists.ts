import { boolean, computed, integer, internal, object, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Lists of users to notify. @source service-api.md, Distribution list and Limits; decisions.md 5; digest `/v1/distribution-lists` */
export default defineResource({
  name: "distribution-lists",
  doc: "A named list of users; its subscriptions say who is on it.",
  paths: [{ at: "distribution-lists" }],
  idParam: "distributionListId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: { omit: ["loadSourceId", "loadKey"] },
  fields: {
    name: text("What people call the list.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Domains below the list's own see it too.", { default: false }),
    isSubscribable: boolean("Users may put themselves on the list.", { default: false }),
    campaign: object("How people join the list by themselves.", {
      welcomeMessage: text("Sent to whoever joins.", { max: 10_000 }),
      inactiveMessage: text("Answer to whoever tries to join after the enrolment ended.", { max: 10_000 }),
      url: text("Address of the enrolment page; made by Carillon.", { readOnly: true, max: 2_000 }),
      subscribeTag: text("Short word that names the list in a joining message.", { max: 30 }),
      defaultNotificationDays: integer("Days from joining to the end of the subscription. own choice: 1 to 3650.", {
        min: 1,
        max: 3_650,
        unit: "d",
      }),
      enrollmentEndDate: timestamp("Moment from which nobody can join any more."),
    }),
    loadSourceId: ref("Load definition that made the list.", "load-definitions", { readOnly: true }),
    loadKey: internal("What the source of its load definition calls the list.", "text", { index: true }),
    syncId: computed("Replication marker; equal on both sides once the row is replicated.", "text", {
      nullable: true,
    }),
  },
});
