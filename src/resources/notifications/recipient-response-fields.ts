import { computed } from "../../schema/field.ts";

/** What a notification shows beside the rest in the list of one user: that user's answer and reading. @source digest `/v1/users/{userId}/notifications` */
export const RECIPIENT_RESPONSE_FIELDS = {
  confirmationResponse: computed("The user's last answer.", "text", { nullable: true, sometimes: true }),
  confirmationResponseTimestamp: computed("When it was given.", "timestamp", { nullable: true, sometimes: true }),
  dynamicReplyText: computed("What the user was told then.", "text", { nullable: true, sometimes: true }),
  declinable: computed("Whether the user may decline further messages of its template.", "boolean", {
    sometimes: true,
  }),
  optOutId: computed("The user's opt-out from its template, by its id.", "text", { nullable: true, sometimes: true }),
  readTimestamp: computed("When the user read it first.", "timestamp", { nullable: true, sometimes: true }),
};
