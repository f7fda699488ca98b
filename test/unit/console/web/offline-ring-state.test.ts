import { expect, it } from "vitest";
import {
  type OfflineRingState,
  offlineRingStateOf,
} from "../../../../src/console/web/features/devices/offline-ring-state.ts";

const NOW = Date.parse("2026-01-12T08:00:00Z");

it.each<[string | undefined, string, boolean | null, OfflineRingState | null]>([
  [undefined, "", true, null],
  ["2026-01-27T00:00:00.000Z", "2026-01-12T07:00:00.000Z", true, "kept"],
  // So many bells that no plan holds those of 14 days.
  ["2026-01-19T10:15:00.000Z", "2026-01-12T07:00:00.000Z", true, "kept"],
  ["2026-01-27T00:00:00.000Z", "2026-01-11T07:59:00.000Z", true, "behind"],
  ["2026-01-27T00:00:00.000Z", "", true, "behind"],
  ["2026-01-25T00:00:00.000Z", "2026-01-11T00:00:00.000Z", false, "alone"],
  ["2026-01-12T07:59:59.000Z", "2026-01-12T07:00:00.000Z", false, "none"],
  ["", "", true, "none"],
])(
  "a plan until %s that was in order at %s of a speaker whose registration is %s is %s",
  (until, at, isRegistered, state) => {
    const attributes: Record<string, string> = until === undefined ? {} : { RingPlanUntil: until, RingPlanAt: at };
    expect(offlineRingStateOf({ attributes, isRegistered }, NOW)).toBe(state);
  },
);
