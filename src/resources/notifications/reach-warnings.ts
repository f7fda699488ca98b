/**
 * Codes of the warnings about a message that would reach no one: it has no recipients; none of them can be contacted;
 * those that can be contacted probably do not answer.
 */
export const REACH_WARNING_CODES = ["no-recipients", "not-deliverable", "no-answer-expected"] as const;

/** Codes of all warnings about a message that is sent all the same. */
export const SEND_WARNING_CODES = [...REACH_WARNING_CODES, "unfilled-variables"] as const;

export type ReachWarningCode = (typeof REACH_WARNING_CODES)[number];
