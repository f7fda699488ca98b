import { RECIPIENT_FIELDS } from "../broadcast/compose.ts";

/** Recipients that are named take the place of all that the template names. */
export function recipientsOf({
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
