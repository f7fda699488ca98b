import type { TemplateRow } from "../../api/rows.ts";
import { valueAtPath } from "../../ui/form/form-fields.ts";

/**
 * Where a template says that it is a tile of the emergency sheet. own choice: in its free data, which every client may use,
 * so that no field is added to the contract for a button of the console.
 */
export const EMERGENCY_FLAG = ["console", "emergency"] as const;

/** True for a template that an administrator has marked for emergencies. */
export function isForEmergencies({ metadata }: Pick<TemplateRow, "metadata">): boolean {
  return valueAtPath(metadata, EMERGENCY_FLAG) === true;
}
