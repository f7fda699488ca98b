import type { TemplateRow } from "../../api/rows.ts";
import { valueAtPath } from "../../ui/form/form-fields.ts";

/**
 * Path of the flag in a template's metadata that shows it as an emergency tile. Metadata is free for every client, so
 * the API needs no field for it.
 */
export const EMERGENCY_FLAG = ["console", "emergency"] as const;

/** True for a template that an administrator has marked for emergencies. */
export function isForEmergencies({ metadata }: Pick<TemplateRow, "metadata">): boolean {
  return valueAtPath(metadata, EMERGENCY_FLAG) === true;
}
