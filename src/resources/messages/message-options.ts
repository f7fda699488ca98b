/** Which part of a message is spoken. @source decisions.md 8; digest, ttsType, for custom-ssml */
export const TTS_TYPES = ["none", "subject", "body", "subject-and-body", "custom-text", "custom-ssml"] as const;

/** How fast it is spoken. @source digest, ttsSpeed */
export const TTS_SPEEDS = ["very-slow", "slow", "normal", "fast", "very-fast"] as const;

/** How urgent a message is: critical is the emergency class. @source interfaces.md, Priorities */
export const MESSAGE_PRIORITIES = ["critical", "normal"] as const;
