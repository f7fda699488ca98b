/** Asks the thread of a plugin to close its sockets, before it is ended whatever it does. */
export const SHUTDOWN_REQUEST = "shutdown-request";
/** Its answer. */
export const SHUTDOWN_COMPLETE = "shutdown-complete";
