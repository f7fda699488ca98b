/**
 * What a device's last delivery says of it: it answered, it got our packets but has no way to answer (a zone), or it
 * stayed silent. own choice
 */
export const DEVICE_STATES = ["answering", "sent", "silent"] as const;

/** One of the states. */
export type DeviceState = (typeof DEVICE_STATES)[number];
