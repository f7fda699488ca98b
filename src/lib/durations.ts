/** Milliseconds of a day by UTC. */
export const DAY_MS = 86_400_000;
