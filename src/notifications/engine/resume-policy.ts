/** Stored state of a broadcast to resume; times are epoch ms, null where unset. */
export interface StoredBroadcastState {
  /** First packet; null before the start. */
  t0: number | null;
  /** Last packet. */
  streamEndedAt: number | null;
  /** Length of the audio; null without. */
  programmeMs: number | null;
  notAfter: number;
  emergency: boolean;
}

/**
 * How a broadcast is resumed: `begin` it, `resume` its audio at the current position, begin it `again`, end it as
 * `interrupted`, or only `finish` the rows of one whose audio is over.
 */
export type ResumeDecision = "begin" | "resume" | "again" | "interrupted" | "finish";

/** A shorter rest of audio is not worth opening sockets for. */
const MIN_REST_MS = 100;

/** Decides how a broadcast is resumed at `now`. @source docs/decisions/0016-notification-engine.md, Limits */
export function decideResume(stored: StoredBroadcastState, now: number): ResumeDecision {
  if (stored.streamEndedAt !== null) return "finish";
  const tooLate = now > stored.notAfter ? (stored.emergency ? "again" : "interrupted") : null;
  if (stored.t0 === null || stored.programmeMs === null) return tooLate ?? "begin";
  const restMs = stored.t0 + stored.programmeMs - now;
  if (tooLate === null && restMs >= MIN_REST_MS) return "resume";
  // How much of it was heard is unknown: an emergency is rather heard twice than missed.
  return stored.emergency ? "again" : "interrupted";
}
