import type { FilterInput } from "../../api/rows.ts";
import type { GroupDraft } from "../devices/group-definition.ts";

/** The filters of an appliance's settings, each with the kind of device that it is about. */
export const LICENCE_FILTERS = [
  { name: "phoneFilter", type: "phones" },
  { name: "speakerFilter", type: "speakers" },
  { name: "idnFilter", type: "idns" },
] as const;

/** One of the filters. */
export type LicenceFilter = (typeof LICENCE_FILTERS)[number];

/** A filter for the editor; null for nested lists, which it cannot show. */
export function licenceDraft(config: unknown, { name }: LicenceFilter): GroupDraft | null {
  const given = ((config ?? {}) as Record<string, Partial<GroupDraft> | null | undefined>)[name];
  const filters = (given?.filters ?? []) as readonly (FilterInput | readonly FilterInput[])[];
  if (filters.some(Array.isArray)) return null;
  const isNone = filters.length === 0 && (given?.filterType ?? "ACCEPT") !== "REJECT";
  return {
    name,
    filterType: isNone ? "ACCEPT" : (given?.filterType ?? "OR"),
    logicalExpression: given?.logicalExpression ?? "",
    filters: filters as readonly FilterInput[],
    additionIds: [],
    exclusionIds: [],
  };
}

/** The settings with the filter as it was edited; one that takes every device is left out. */
export function configWith(
  config: unknown,
  { name }: LicenceFilter,
  draft: GroupDraft | null,
): Record<string, unknown> {
  const { [name]: _, ...rest } = (config ?? {}) as Record<string, unknown>;
  if (draft === null) return (config ?? {}) as Record<string, unknown>;
  if (draft.filterType === "ACCEPT") return rest;
  const { filterType, filters, logicalExpression } = draft;
  const expression = filterType === "LOGICAL_EXPRESSION" ? { logicalExpression } : {};
  return { ...rest, [name]: { filterType, filters: filterType === "REJECT" ? [] : filters, ...expression } };
}
