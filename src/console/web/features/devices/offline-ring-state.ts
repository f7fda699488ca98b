import type { DeviceRow } from "../../api/rows.ts";

/**
 * How a speaker stands with its plan of bells: `kept` up to now; `behind`: it is connected and gets none;
 * `alone`: the appliance does not hear it, so it rings by itself; `none`: it has none, or it is over.
 */
export type OfflineRingState = "kept" | "behind" | "alone" | "none";

/** A plan is made anew each day, and told to be in order every six hours at least, however far it reaches. */
const RENEWED_MS = 86_400_000;

/** Null for what can't ring by itself; `now` is epoch ms. @source plugins/speakers, README.md */
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
