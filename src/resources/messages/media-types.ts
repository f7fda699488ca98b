/** Image types of messages. @source docs/decisions/0042-api-contract.md */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif"] as const;

/** Audio types of messages. Other formats than WAV are converted to WAV if a converter is installed. */
export const AUDIO_TYPES = ["audio/wav", "audio/mpeg", "audio/ogg", "audio/flac"] as const;
