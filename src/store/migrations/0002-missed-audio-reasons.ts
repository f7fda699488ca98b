import type { Migration } from "./migration.ts";

/**
 * Delivery reasons of 0.1 for phones that were reached after the end of the audio, and their wording since. Pages and
 * activity logs count deliveries by these reasons.
 */
export const REWORDED_REASONS: readonly (readonly [from: string, to: string])[] = [
  [
    "The sound was over when its turn came: it only shows the message.",
    "The audio had ended before this device was contacted; text only.",
  ],
  [
    "The sound was over when it answered: it only shows the message.",
    "The audio had ended before this device responded; text only.",
  ],
];

/** Gives stored deliveries the reasons by which missed audio is counted. */
export const missedAudioReasons: Migration = {
  name: "0002-missed-audio-reasons",
  up(db) {
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'deliveries'").get() === undefined) return;
    const update = db.prepare("UPDATE deliveries SET reason = ? WHERE reason = ?");
    for (const [from, to] of REWORDED_REASONS) update.run(to, from);
  },
};
