/** Delivery reasons of phones that were reached after the end of the audio. */
export const MISSED_AUDIO_REASONS = {
  asked: "The audio had ended before this device was contacted; text only.",
  joined: "The audio had ended before this device responded; text only.",
} as const;
