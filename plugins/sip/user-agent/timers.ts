/** Round-trip time estimate, ms. @source RFC 3261 table 4 */
export const T1_MS = 500;
/** Maximum retransmission interval, ms. */
export const T2_MS = 4_000;
/** Maximum time a message remains in the network, ms. */
export const T4_MS = 5_000;
/** Transaction timeout, ms. */
export const TRANSACTION_TIMEOUT_MS = 64 * T1_MS;
/** Begins every branch. @source RFC 3261 §8.1.1.7 */
export const BRANCH_PREFIX = "z9hG4bK";
