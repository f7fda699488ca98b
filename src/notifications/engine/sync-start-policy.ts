/** How far those who are to hear the same sound have come. */
export interface StartQuorum {
  /** Devices that are asked to join the pooled group, or called. */
  phones: number;
  phonesJoined: number;
  phonesFailed: number;
  /** Devices that get a stream of their own. */
  zones: number;
  /** Streams opened for them, and those of them that failed. */
  zonesReady: number;
}

/** Longest wait for slow ones after the first was asked, by class of the message. @source broadcast.md, Audio, Start rule */
export const MAX_START_WAIT_MS = { emergency: 400, routine: 700 };

const JOINED_RATIO = 0.95;

/** True when the sound may begin before the longest wait is over. @source broadcast.md, Audio, Start rule */
export function canStart(counts: StartQuorum): boolean {
  const alive = counts.phones - counts.phonesFailed;
  return counts.phonesJoined >= Math.ceil(alive * JOINED_RATIO) && counts.zonesReady >= counts.zones;
}
