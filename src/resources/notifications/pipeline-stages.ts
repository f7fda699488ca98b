/** The stages of every broadcast, in order. @source docs/decisions/0016-notification-engine.md */
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

/** The same for a condition in SQL: `'resolve', 'partition'`. */
export function stagesBeforeSql(stage: StageName): string {
  return stagesBefore(stage)
    .map((name) => `'${name}'`)
    .join(", ");
}
