import { boolean, option } from "../../schema/field.ts";

/** Template fields that a sender may be allowed to change. @source docs/decisions/0042-api-contract.md */
export const CUSTOMIZABLE_FIELDS = [
  "subject",
  "body",
  "audio",
  "image",
  "confirmationRequestId",
  "distributionListIds",
  "userIds",
  "deviceGroupIds",
  "areaOfInterestIds",
  "collaborationGroupIds",
  "incidentPlanId",
  "expiration",
  "alertTone",
  "ttsVoiceId",
  "ttsCustomContent",
] as const;

/** A template field that a sender may be allowed to change. */
export type CustomizableField = (typeof CUSTOMIZABLE_FIELDS)[number];

/**
 * The flag by which a template allows a sender to change `field`.
 * @source docs/decisions/0008-notifications-and-templates.md
 */
export function customizableFlag(field: string) {
  return boolean(`A sender may replace the template's ${field}. Default: false.`, {
    default: false,
  });
}

/** Whether a form for sending shows `field` of the template. */
export function displayFlag(field: string) {
  return option(`Whether a send form shows ${field}; auto leaves the choice to the form.`, ["show", "hide", "auto"], {
    default: "auto",
  });
}

type Flags<N extends string> = { readonly [K in N as `${K}Customizable`]: ReturnType<typeof customizableFlag> } & {
  readonly [K in N as `${K}Display`]: ReturnType<typeof displayFlag>;
};

/** `<field>Customizable` and `<field>Display` for each of `fields`, in their order. */
export function customizationFlags<const N extends string>(fields: readonly N[]): Flags<N> {
  const flags = fields.flatMap((field) => [
    [`${field}Customizable`, customizableFlag(field)] as const,
    [`${field}Display`, displayFlag(field)] as const,
  ]);
  return Object.fromEntries(flags) as Flags<N>;
}
