import { expect, it } from "vitest";
import type { ApplianceRow } from "../../../../src/console/web/api/link-rows.ts";
import {
  attentionLevelOf,
  byAttention,
  mostUrgent,
} from "../../../../src/console/web/features/cloud/appliance-attention.ts";

const NOW = Date.parse("2026-01-12T08:00:00.000Z");
const well = {
  ...{ link: "linked", version: "2.0.0", alarms: [], rowsBehind: 0, behindSince: null },
  health: { status: "GREEN", reasons: [], at: "" },
} as unknown as ApplianceRow;
const care = (part: Partial<ApplianceRow>, offered: string | null = null) =>
  attentionLevelOf({ ...well, ...part }, offered, NOW);

it("says of each appliance what it needs", () => {
  const told = (status: "RED" | "YELLOW") => ({ health: { status, reasons: [], at: "" } });
  expect(care({})).toBe("well");
  expect(care({ link: "away", ...told("YELLOW") })).toBe("away");
  expect(care({ link: "revoked", ...told("RED") })).toBe("revoked");
  expect(care(told("RED"))).toBe("trouble");
  expect(care({ alarms: [{ alarmId: "a", type: "t", since: "", reasons: [] }] })).toBe("trouble");
  expect(care(told("YELLOW"))).toBe("uneasy");
  expect(care({ rowsBehind: 3, behindSince: "2026-01-12T07:58:00.000Z" })).toBe("behind");
  expect(care({ rowsBehind: 3, behindSince: "2026-01-12T07:59:50.000Z" })).toBe("well");
  expect([care({}, "2.1.0"), care({}, "2.0.0"), care({ version: null }, "2.1.0")]).toEqual(["old", "well", "well"]);
});

it("puts those first that need most", () => {
  const rows = (["well", "away", "never", "trouble", "away"] as const).map((each, at) => ({ care: each, at }));
  expect(byAttention(rows).map(({ at }) => at)).toEqual([3, 1, 4, 0, 2]);
  expect([mostUrgent(["well", "old", "uneasy"]), mostUrgent([])]).toEqual(["uneasy", "well"]);
});
