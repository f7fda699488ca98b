/** The stages of every broadcast, in order. @source broadcast.md, Stages */
export const STAGES = ["accept", "resolve", "partition", "prepare", "queue", "deliver", "collect", "settle"] as const;

/** One of the stages. */
export type StageName = (typeof STAGES)[number];

/** Stages that a message waits in until `stage` begins, in order; the sender waits for `accept`, which is none of them. */
export function stagesBefore(stage: StageName): readonly StageName[] {
  return STAGES.slice(1, STAGES.indexOf(stage));
}

/** The same for a condition in SQL: `'resolve', 'partition'`. */
export function stagesBeforeSql(stage: StageName): string {
  return stagesBefore(stage)
    .map((name) => `'${name}'`)
    .join(", ");
}
