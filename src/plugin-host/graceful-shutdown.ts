/** Asks a plugin's worker to close its sockets before it is terminated. */
export const SHUTDOWN_REQUEST = "shutdown-request";
/** Acknowledges the request. */
export const SHUTDOWN_COMPLETE = "shutdown-complete";
