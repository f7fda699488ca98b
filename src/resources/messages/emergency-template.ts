/**
 * Path of the flag in a template's metadata that shows it as an emergency tile; what a tile sends is critical. Metadata is
 * free for every client, so the API needs no field for it.
 */
export const EMERGENCY_FLAG = ["console", "emergency"] as const;

/** Condition on a template `t`: it sends emergencies. */
export const EMERGENCY_TEMPLATE_SQL = `(t.priority = 'critical'
  OR CASE WHEN json_valid(t.metadata) THEN json_extract(t.metadata, '$.${EMERGENCY_FLAG.join(".")}') END = 1)`;

/** True for a template that sends emergencies: critical, or shown as an emergency tile. */
export function isEmergencyTemplate({ priority, metadata }: { priority?: unknown; metadata?: unknown }): boolean {
  return priority === "critical" || hasEmergencyFlag(metadata);
}

/** True for metadata that show a template as an emergency tile. */
export function hasEmergencyFlag(metadata: unknown): boolean {
  let value = metadata;
  for (const name of EMERGENCY_FLAG)
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return value === true;
}
