/**
 * Which part of a message is spoken.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md
 */
export const TTS_TYPES = ["none", "subject", "body", "subject-and-body", "custom-text", "custom-ssml"] as const;

/** Speech rate. @source docs/decisions/0042-api-contract.md */
export const TTS_SPEEDS = ["very-slow", "slow", "normal", "fast", "very-fast"] as const;

/** How urgent a message is: critical is the emergency class. @source docs/decisions/0022-priorities.md */
export const MESSAGE_PRIORITIES = ["critical", "normal"] as const;
