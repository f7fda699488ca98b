import { boolean, integer, list, many, option, ref, text } from "../../schema/field.ts";

/** Form of the variables of questions and of the location. @source docs/decisions/0007-scenarios.md */
export const VARIABLE_PATTERN = /^[A-Za-z][A-Za-z0-9_]{2,31}$/;

/** A question of a scenario; its id is unique within the scenario only. */
export const SCENARIO_QUESTION_FIELDS = {
  name: text("Text of the question.", { required: true, min: 1, max: 255 }),
  variable: text("Name of the placeholder for the answer in messages.", { required: true, min: 3, max: 32 }),
  type: option("Type of answer: free text, or one of the options.", ["option", "text"], { required: true }),
  options: list("Answers to choose from.", text("One answer.", { min: 1, max: 64 }), { maxItems: 16, default: [] }),
  rank: integer("Sort order of the question, ascending; default: the order of the list.", {
    max: 1_000_000,
  }),
  required: boolean("An answer is required to start the scenario. Default: false.", { default: false }),
} as const;

/** A message of a scenario. */
export const SCENARIO_MESSAGE_FIELDS = {
  name: text("Name of the message.", { required: true, min: 1, max: 140 }),
  messageTemplateId: ref("Template of the message.", "message-templates", { required: true }),
  subject: text("Subject; replaces that of the template.", { max: 255 }),
  body: text("Body; replaces that of the template.", { max: 10_000 }),
  ttsCustomContent: text("Spoken text; replaces that of the template.", { max: 10_000 }),
  confirmationRequestId: ref("Confirmation request; replaces that of the template.", "confirmation-requests"),
  siteRoleIds: many("Site roles that also receive the message, with their recipients at the site.", "site-roles", {
    maxItems: 100,
  }),
} as const;

/** Further recipients of one message of a scenario that is started. */
export const ADDITIONAL_RECIPIENT_FIELDS = {
  distributionListIds: many("Lists whose users receive it.", "distribution-lists", { maxItems: 1_000 }),
  userIds: many("Users who receive it.", "users", { maxItems: 1_000 }),
  deviceGroupIds: many("Device groups that play and display it.", "device-groups", { maxItems: 1_000 }),
  areaOfInterestIds: many("Areas whose occupants receive it.", "areas-of-interest", { maxItems: 1_000 }),
  collaborationGroupIds: many("Collaboration groups that receive it.", "collaboration-groups", { maxItems: 1_000 }),
} as const;
