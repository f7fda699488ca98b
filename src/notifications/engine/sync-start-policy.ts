/** Progress of the devices that start together. */
export interface StartQuorum {
  /** Devices that are asked to join the multicast group, or called. */
  phones: number;
  phonesJoined: number;
  phonesFailed: number;
  /** Devices that get their own stream. */
  zones: number;
  /** Streams opened for them, failed ones included. */
  zonesReady: number;
}

/**
 * Maximum wait for slow devices after the first was asked, by class of the message. @source
 * docs/decisions/0016-notification-engine.md, Start rule
 */
export const MAX_START_WAIT_MS = { emergency: 400, routine: 700 };

const JOINED_RATIO = 0.95;

/**
 * True when the audio may start before the maximum wait is over. @source docs/decisions/0016-notification-engine.md,
 * Start rule
 */
export function canStart(counts: StartQuorum): boolean {
  const alive = counts.phones - counts.phonesFailed;
  return counts.phonesJoined >= Math.ceil(alive * JOINED_RATIO) && counts.zonesReady >= counts.zones;
}
