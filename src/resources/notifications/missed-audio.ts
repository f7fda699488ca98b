/** Part of every delivery reason for missed audio and of no other reason, so that a search for it finds these devices. */
export const MISSED_AUDIO_PHRASE = "The audio had ended before this device";

/** Delivery reasons of phones that were reached after the end of the audio. */
export const MISSED_AUDIO_REASONS = {
  asked: `${MISSED_AUDIO_PHRASE} was contacted; text only.`,
  joined: `${MISSED_AUDIO_PHRASE} responded; text only.`,
} as const;
