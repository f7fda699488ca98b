import { computed } from "../../schema/field.ts";

/**
 * Additional fields of a notification in the list of one user: answer and read status.
 * @source docs/decisions/0042-api-contract.md, `/v1/users/{userId}/notifications`
 */
export const RECIPIENT_RESPONSE_FIELDS = {
  confirmationResponse: computed("The user's last answer.", "text", { nullable: true, sometimes: true }),
  confirmationResponseTimestamp: computed("When that answer was given.", "timestamp", {
    nullable: true,
    sometimes: true,
  }),
  dynamicReplyText: computed("Dynamic reply to that answer.", "text", { nullable: true, sometimes: true }),
  declinable: computed("Whether the user may opt out of further messages of the template.", "boolean", {
    sometimes: true,
  }),
  optOutId: computed("Id of the user's opt-out from the template.", "text", { nullable: true, sometimes: true }),
  readTimestamp: computed("When the user first read it.", "timestamp", { nullable: true, sometimes: true }),
};
