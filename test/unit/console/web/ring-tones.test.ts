import { expect, it } from "vitest";
import { ringTone } from "../../../../src/console/web/features/bells/ring-tones.ts";
import type { ReachVerdict } from "../../../../src/resources/notifications/device-outcomes.ts";

it.each([
  ["rung", ["reached"], "good"],
  ["rung", ["reached", "reached"], "good"],
  ["rung", ["reached", null], ""],
  ["rung", [null], ""],
  ["rung", [], ""],
  ["rung", ["reachedNone"], "bad"],
  ["rung", ["reached", "reachedNone"], "bad"],
  ["rung", ["reachedPartly"], "warn"],
  ["rung", ["textOnly"], "warn"],
  ["rung", ["noReceipt"], "info"],
  ["late", ["reached"], "warn"],
  ["late", ["reachedNone"], "bad"],
  ["missed", [null], "bad"],
  ["skipped", ["skipped"], "muted"],
  ["started", [null], ""],
  ["planned", [null], ""],
] as const)("colours bells that %s and whose devices were %j: %s", (state, verdicts, tone) => {
  const rings = (verdicts as readonly (ReachVerdict | null)[]).map((verdict) => ({ verdict }));
  expect(ringTone(state, rings)).toBe(tone);
});
