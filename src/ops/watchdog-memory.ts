/** Fields of the memory that the event loop and the watchdog thread share. */
export const SHARED = { BEAT: 0, IS_STUCK: 1, WORK: 2, LENGTH: 3 } as const;

/** What the watchdog thread starts with. */
export interface WatchdogThreadData {
  shared: Int32Array;
  /** Watchdog timeout of the service, ms. */
  timeoutMs: number;
  /** Names of work known so far, by index; later ones arrive as messages. */
  works: string[];
}
