import type { SentenceReference } from "../../lib/sentences/reference.ts";
import type { DeliveryEvidence, DeviceOutcome, OutcomeCounts, ReachVerdict } from "./device-outcomes.ts";

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
  /** Null after the account was deleted. */
  userId: string | null;
  name: string;
  answer: string | null;
  answeredAt: At | null;
  read: boolean;
}

/** A device with the outcome of its delivery. */
export interface PlacedDevice extends DeliveryEvidence {
  deviceId: string;
  name: string;
  outcome: DeviceOutcome;
  reason: string | null;
  reasonSentence: SentenceReference | null;
}

/** Result of a message in a building. */
export interface BuildingOutcomes {
  buildingId: string;
  buildingName: string;
  siteId: string;
  siteName: string;
  outcomes: OutcomeCounts;
  verdict: ReachVerdict;
}
