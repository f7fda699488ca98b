/** Stages of the delivery pipeline, in order. @source docs/decisions/0016-notification-engine.md */
export const STAGES = ["accept", "resolve", "partition", "prepare", "queue", "deliver", "collect", "settle"] as const;

/** A pipeline stage. */
export type StageName = (typeof STAGES)[number];

/**
 * Stages in which a notification waits before `stage`, in order; `accept` is excluded, because the sender waits for
 * it.
 */
export function stagesBefore(stage: StageName): readonly StageName[] {
  return STAGES.slice(1, STAGES.indexOf(stage));
}

/** Selects notifications that have not ended, of which there are few. An index serves this condition. */
export const UNFINISHED_SQL = "stage NOT IN ('settled', 'draft')";

/** As an SQL condition: the notification waits for a stage before `stage`. */
export function isBeforeStageSql(stage: StageName): string {
  const names = stagesBefore(stage).map((name) => `'${name}'`);
  return `(stage IN (${names.join(", ")}) AND ${UNFINISHED_SQL})`;
}
