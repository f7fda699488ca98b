import { boolean, many, ref, text } from "../../schema/field.ts";

/** Most rules of one kind. own choice: as many as templates, ring lists and schedules */
export const INPUT_RULE_LIMIT = { most: 3_500 } as const;

/** Longest pattern of a number. @source digest `/v1/dialcast-dialing-configurations` */
export const MAX_NUMBER_PATTERN = 50;

/**
 * What rules that start something share. Recipients that a rule names take the place of the template's, as those of
 * a ring do. `dependents` names the list in which templates, groups and lists tell the rules that use them.
 * @source decisions.md 13; own choice: a template that a rule says something with can't be deleted
 */
export function inputRuleFields<const D extends string>(dependents: D) {
  return {
    name: text("Name.", { required: true, min: 1, max: 255 }),
    enabled: boolean("The rule is active.", { default: true }),
    messageTemplateId: ref("Template of the message.", "message-templates", {
      embed: "messageTemplate",
      dependents,
      required: true,
      // A rule that lost its words would warn nobody, and nobody would know.
      onDelete: "refuse",
    }),
    deviceGroupIds: many("Groups whose devices receive it.", "device-groups", { embed: "deviceGroups", dependents }),
    distributionListIds: many("Lists whose users receive it.", "distribution-lists", {
      embed: "distributionLists",
      dependents,
    }),
  };
}

/** The appliance that follows a rule. */
export function servingEndpointField() {
  return ref("Appliance that applies the rule; all if not given.", "endpoints", { embed: "endpoint" });
}
