import { boolean, integer, list, many, option, ref, text } from "../../schema/field.ts";

/** Form of the variables of questions and of the location. @source decisions.md 7 */
export const VARIABLE_PATTERN = /^[A-Za-z][A-Za-z0-9_]{2,31}$/;

/** A question of a scenario; its id is told apart within the scenario alone. own choice: limits of the name. */
export const SCENARIO_QUESTION_FIELDS = {
  name: text("The question as it is asked.", { required: true, min: 1, max: 255 }),
  variable: text("Name under which the answer stands in the messages.", { required: true, min: 3, max: 32 }),
  type: option("How it is answered: in words, or by one of the options.", ["option", "text"], { required: true }),
  options: list("Answers to choose from.", text("One answer.", { min: 1, max: 64 }), { maxItems: 16, default: [] }),
  rank: integer("Place among the questions, the smallest first. own choice: as listed unless given.", {
    max: 1_000_000,
  }),
  required: boolean("The scenario does not start without an answer. own choice: false unless set.", { default: false }),
} as const;

/** A message of a scenario. own choice: the spoken words beside those of the digest. */
export const SCENARIO_MESSAGE_FIELDS = {
  name: text("What people call the message.", { required: true, min: 1, max: 140 }),
  messageTemplateId: ref("Template that it is made from.", "message-templates", { required: true }),
  subject: text("First line instead of the template's.", { max: 255 }),
  body: text("Text instead of the template's.", { max: 10_000 }),
  ttsCustomContent: text("Words that are spoken instead of the template's.", { max: 10_000 }),
  confirmationRequestId: ref("Answers to choose from instead of the template's.", "confirmation-requests"),
  siteRoleIds: many("Roles: it goes to who plays them at the site, too.", "site-roles", { maxItems: 100 }),
} as const;

/** Further recipients of one message of a scenario that is started. */
export const ADDITIONAL_RECIPIENT_FIELDS = {
  distributionListIds: many("Lists whose users receive it.", "distribution-lists", { maxItems: 1_000 }),
  userIds: many("Users who receive it.", "users", { maxItems: 1_000 }),
  deviceGroupIds: many("Device groups that play and display it.", "device-groups", { maxItems: 1_000 }),
  areaOfInterestIds: many("Areas whose occupants receive it.", "areas-of-interest", { maxItems: 1_000 }),
  collaborationGroupIds: many("Collaboration groups that receive it.", "collaboration-groups", { maxItems: 1_000 }),
} as const;
