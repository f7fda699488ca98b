import type { DeviceRow } from "../../api/rows.ts";

/**
 * State of a speaker's stored ring plan: `kept` up to date; `behind` connected, but not renewed; `alone`
 * disconnected, so it rings offline; `none` missing or expired.
 */
export type OfflineRingState = "kept" | "behind" | "alone" | "none";

/** A plan is renewed every day and confirmed at least every six hours, however far ahead it reaches. */
const RENEWED_MS = 86_400_000;

/** Null for devices that cannot ring offline; `now` is epoch ms. @source plugins/speakers, README.md */
export function offlineRingStateOf(
  { attributes, isRegistered }: Pick<DeviceRow, "attributes" | "isRegistered">,
  now: number,
): OfflineRingState | null {
  const { RingPlanUntil: until, RingPlanAt: inOrderAt = "" } = attributes;
  if (until === undefined) return null;
  const end = Date.parse(until);
  if (!(end > now)) return "none";
  if (isRegistered === false) return "alone";
  return now - Date.parse(inOrderAt) < RENEWED_MS ? "kept" : "behind";
}
