/** Whether somebody has logged in. It stands apart, as a service worker has to be one file. */
export const LOGGED_IN = "/api/setup";
