import { boolean, option } from "../../schema/field.ts";

/** Parts of a template that a sender may be allowed to change. @source service-api.md, Message template */
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

/** One of the parts that a sender may be allowed to change. */
export type CustomizableField = (typeof CUSTOMIZABLE_FIELDS)[number];

/**
 * The flag by which a template allows a sender to change `field`.
 * @source decisions.md 8; own choice: not allowed unless the template says so
 */
export function customizableFlag(field: string) {
  return boolean(`A sender may give another ${field} than the template's. own choice: false when not given.`, {
    default: false,
  });
}

/** Whether a form for sending shows `field` of the template. */
export function displayFlag(field: string) {
  return option(`Whether a sending form shows ${field}; auto leaves it to the form.`, ["show", "hide", "auto"], {
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
