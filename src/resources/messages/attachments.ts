/** Pictures that a message may carry. @source digest, imageMimeType */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif"] as const;

/** Recordings that a message may carry. own choice: WAV, the one kind that is decoded without outside programs. */
export const AUDIO_TYPES = ["audio/wav"] as const;
