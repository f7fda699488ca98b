import { boolean, many, ref, text } from "../../schema/field.ts";
import { LOST_REFERENCES, lostReferencesField } from "../lost-references.ts";

/** Maximum number of rules of one type, the same as for templates, ring lists and schedules. */
export const INPUT_RULE_LIMIT = { most: 3_500 } as const;

/**
 * Maximum length of a number pattern.
 * @source docs/decisions/0042-api-contract.md, `/v1/dialcast-dialing-configurations`
 */
export const MAX_NUMBER_PATTERN = 50;

/**
 * Common fields of input rules. Recipients of a rule replace those of the template, as for rings. `dependents` is the
 * name of the dependents list of templates, groups and lists. A template in use cannot be deleted.
 * @source docs/decisions/0013-other-resources.md
 */
export function inputRuleFields<const D extends string>(dependents: D) {
  return {
    name: text("Name.", { required: true, min: 1, max: 255 }),
    enabled: boolean("The rule is active.", { default: true }),
    messageTemplateId: ref("Template of the message.", "message-templates", {
      embed: "messageTemplate",
      dependents,
      required: true,
      // Without its template the rule would silently stop warning.
      onDelete: "refuse",
    }),
    deviceGroupIds: many("Groups whose devices receive it.", "device-groups", {
      ...{ embed: "deviceGroups", dependents, lostIn: LOST_REFERENCES },
    }),
    distributionListIds: many("Lists whose users receive it.", "distribution-lists", {
      embed: "distributionLists",
      dependents,
      lostIn: LOST_REFERENCES,
    }),
    [LOST_REFERENCES]: lostReferencesField("the rule reaches no one, instead of the recipients of the template"),
  };
}

/** The appliance that applies a rule. */
export function servingEndpointField() {
  return ref("Appliance that applies the rule; all if not given.", "endpoints", { embed: "endpoint" });
}
