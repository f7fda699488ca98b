/** Errors and warnings kept of a run, each. */
export const MAX_MESSAGES_KEPT = 100;
/** Lines between two reports of progress. */
export const PROGRESS_LINES = 20_000;
