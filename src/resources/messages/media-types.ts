/** Pictures that a message may carry. @source digest, imageMimeType */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif"] as const;

/** Recordings that a message may carry. own choice: what is no WAV is stored as one, where a program is installed that reads it. */
export const AUDIO_TYPES = ["audio/wav", "audio/mpeg", "audio/ogg", "audio/flac"] as const;
