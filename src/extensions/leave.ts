/** Asks the thread of a plugin to close its sockets, before it is ended whatever it does. */
export const LEAVE = "leave";
/** Its answer. */
export const LEFT = "left";
