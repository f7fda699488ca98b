/** What the ledger says of phones that were reached when there was nothing more to hear. own choice: the words */
export const MISSED_AUDIO_REASONS = {
  asked: "The sound was over when its turn came: it only shows the message.",
  joined: "The sound was over when it answered: it only shows the message.",
} as const;
