/** A device, or a group of another system, that a message is about to be sent to. */
export interface FilterCandidate {
  /** Id of the row; the handler returns those of the devices to leave out. */
  id: string;
  /** Type of the device or group, such as `phones` or `email`. */
  type: string;
  deviceIdentifier: string;
  name: string;
  /** Id of the owner; null for devices without one. */
  userId: string | null;
}

/** Some of the devices of one message; a message to many devices makes several requests. */
export interface DeviceFilterRequest {
  notificationId: string;
  subject: string;
  /** 1 highest … 9 lowest. Emergencies are never filtered. */
  priority: number;
  drill: boolean;
  candidates: readonly FilterCandidate[];
}

/** The devices to leave out, by id, and why, as text for people. */
export interface DeviceFilterResult {
  excluded: readonly string[];
  reason?: string;
}

/**
 * Narrows the devices of a message. If it throws or does not answer in time, the whole message goes to all its devices.
 */
export type DeviceFilterHandler = (request: DeviceFilterRequest) => Promise<DeviceFilterResult>;
