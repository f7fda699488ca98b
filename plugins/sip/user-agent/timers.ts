/** Round trip that is reckoned with, ms. @source RFC 3261 table 4 */
export const T1_MS = 500;
/** Longest pause between repetitions, ms. */
export const T2_MS = 4_000;
/** Longest time that a message is on its way, ms. */
export const T4_MS = 5_000;
/** When a transaction is given up. */
export const TRANSACTION_TIMEOUT_MS = 64 * T1_MS;
