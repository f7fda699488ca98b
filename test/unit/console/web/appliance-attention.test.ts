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
  health: { status: "GREEN", reasonSentences: [], at: "" },
} as unknown as ApplianceRow;
const level = (part: Partial<ApplianceRow>, offered: string | null = null) =>
  attentionLevelOf({ ...well, ...part }, offered, NOW);

it("says of each appliance what it needs", () => {
  const told = (status: "RED" | "YELLOW") => ({ health: { status, reasonSentences: [], at: "" } });
  expect(level({})).toBe("well");
  expect(level({ link: "away", ...told("YELLOW") })).toBe("away");
  expect(level({ link: "revoked", ...told("RED") })).toBe("revoked");
  expect(level(told("RED"))).toBe("trouble");
  expect(level({ alarms: [{ alarmId: "a", type: "t", since: "", reasonSentences: [] }] })).toBe("trouble");
  expect(level(told("YELLOW"))).toBe("uneasy");
  expect(level({ rowsBehind: 3, behindSince: "2026-01-12T07:58:00.000Z" })).toBe("behind");
  expect(level({ rowsBehind: 3, behindSince: "2026-01-12T07:59:50.000Z" })).toBe("well");
  expect([level({}, "2.1.0"), level({}, "2.0.0"), level({ version: null }, "2.1.0")]).toEqual(["old", "well", "well"]);
});

it("puts those first that need most", () => {
  const rows = (["well", "away", "never", "trouble", "away"] as const).map((each, at) => ({ attention: each, at }));
  expect(byAttention(rows).map(({ at }) => at)).toEqual([3, 1, 4, 0, 2]);
  expect([mostUrgent(["well", "old", "uneasy"]), mostUrgent([])]).toEqual(["uneasy", "well"]);
});
