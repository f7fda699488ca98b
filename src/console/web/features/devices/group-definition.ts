import type { FilterComparison } from "../../../../devices/device-filter.ts";
import { parseLogicalExpression } from "../../../../devices/logical-expression.ts";
import { CallerError } from "../../../../lib/errors.ts";
import type { FilterInput, GroupRow } from "../../api/rows.ts";

/** What an editor holds of a group. */
export interface GroupDraft {
  name: string;
  filterType: string;
  logicalExpression: string;
  filters: readonly FilterInput[];
  additionIds: readonly string[];
  exclusionIds: readonly string[];
}

/** How filters may combine. */
export const FILTER_TYPES = ["OR", "AND", "ACCEPT", "REJECT", "LOGICAL_EXPRESSION"] as const;

/** How a filter may compare. */
export const COMPARISONS = [
  "EQUALS",
  "BEGINS_WITH",
  "CONTAINS",
  "ENDS_WITH",
  "MATCHES_REGEX",
] as const satisfies readonly FilterComparison[];

/** Attributes that every device or most of them have; others can be typed. */
export const ATTRIBUTES = [
  "ServiceDeviceType",
  "Name",
  "Description",
  "IPAddress",
  "DeviceProduct",
  "CallManagerDevicePool",
];

/** The editor's beginning, for a group that is or for a new one. */
export function groupDraftOf(group: GroupRow | null): GroupDraft {
  return {
    name: group?.name ?? "",
    filterType: group?.filterType ?? "AND",
    logicalExpression: group?.logicalExpression ?? "",
    filters: group?.filters ?? [],
    additionIds: group?.additionIds ?? [],
    exclusionIds: group?.exclusionIds ?? [],
  };
}

/** The definition as the API takes it: an expression only where it is used, no empty lines. */
export function groupBodyOf(draft: GroupDraft): Record<string, unknown> {
  const isExpression = draft.filterType === "LOGICAL_EXPRESSION";
  return {
    ...draft,
    logicalExpression: isExpression ? draft.logicalExpression : null,
    additionIds: namesOf(draft.additionIds),
    exclusionIds: namesOf(draft.exclusionIds),
  };
}

function namesOf(lines: readonly string[]): string[] {
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

/** Error of a logical expression, by the same parser as the appliance; null for none. */
export function expressionError({ filterType, logicalExpression, filters }: GroupDraft): CallerError | null {
  if (filterType !== "LOGICAL_EXPRESSION") return null;
  try {
    parseLogicalExpression(logicalExpression, filters.length);
    return null;
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    return error;
  }
}

/** Whether every filter has an attribute and a value. */
export function isGroupComplete(draft: GroupDraft): boolean {
  return (
    draft.filters.every(({ attribute, value }) => attribute !== "" && value !== "") && expressionError(draft) === null
  );
}
