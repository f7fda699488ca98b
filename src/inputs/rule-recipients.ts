import { RECIPIENT_FIELDS } from "../notifications/compose/message-builder.ts";

/** Recipients of the rule replace all recipients of the template. */
export function ruleRecipients({
  deviceGroupIds,
  distributionListIds,
}: {
  deviceGroupIds: readonly string[] | null;
  distributionListIds: readonly string[] | null;
}): Record<string, readonly string[]> {
  const named: Record<string, readonly string[] | null> = { deviceGroupIds, distributionListIds };
  if (!deviceGroupIds?.length && !distributionListIds?.length) return {};
  return Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, named[field] ?? []]));
}
