import type { Sentence } from "../../lib/sentences/sentences.ts";

/** Part of every delivery reason for missed audio and of no other reason, so that a search for it finds these devices. */
export const MISSED_AUDIO_PHRASE = "The audio had ended before this device";

/**
 * Delivery reasons of phones that were reached but did not hear the message: reached after the end of the audio, or, in
 * an emergency, so shortly before it that less than half of one pass was left. Their codes are
 * "delivery.missed-audio-asked", "delivery.missed-audio-joined" and "delivery.missed-audio-partly"; the console filters by
 * the texts without the catalogue.
 */
export const MISSED_AUDIO_REASONS = {
  asked: `${MISSED_AUDIO_PHRASE} was contacted; text only.`,
  joined: `${MISSED_AUDIO_PHRASE} responded; text only.`,
  partly: `${MISSED_AUDIO_PHRASE} had played half of it.`,
} as Readonly<Record<"asked" | "joined" | "partly", Sentence>>;

/** True for the reason of a delivery that reached a phone without its audio. */
export function isMissedAudio(reason: string | null): boolean {
  return (Object.values(MISSED_AUDIO_REASONS) as readonly (string | null)[]).includes(reason);
}
