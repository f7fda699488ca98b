/**
 * State of a device by its last delivery: it responded, packets were sent to a device that cannot respond (a zone),
 * or it did not respond.
 */
export const DEVICE_STATES = ["answering", "sent", "silent"] as const;

/** A device state. */
export type DeviceState = (typeof DEVICE_STATES)[number];
