/** A zone with the names of its parents. */
export interface RoomLocation {
  zoneId: string;
  name: string;
  floorId: string;
  floorName: string;
  buildingId: string;
  buildingName: string;
  siteId: string;
  siteName: string;
}

/** A recipient with the answer; the type of `answeredAt` is chosen by the caller. */
export interface RollCallEntry<At = string> {
  recipientId: string;
  /** Null once the account is deleted. */
  userId: string | null;
  name: string;
  answer: string | null;
  answeredAt: At | null;
  read: boolean;
}

/** A device and how far a message came to it. */
export interface PlacedDevice {
  deviceId: string;
  name: string;
  level: string;
  reason: string | null;
}
