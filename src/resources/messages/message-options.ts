/**
 * Parts of a message that are spoken.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md
 */
export const TTS_TYPES = ["none", "subject", "body", "subject-and-body", "custom-text", "custom-ssml"] as const;

/** Speech rate. @source docs/decisions/0042-api-contract.md */
export const TTS_SPEEDS = ["very-slow", "slow", "normal", "fast", "very-fast"] as const;

/** Policies of a template for messages with unfilled variables. @source docs/decisions/0417-unfilled-variables.md */
export const UNFILLED_VARIABLES_POLICIES = ["remove", "refuse"] as const;

/** Priorities of a message: critical is the emergency class. @source docs/decisions/0022-priorities.md */
export const MESSAGE_PRIORITIES = ["critical", "normal"] as const;
