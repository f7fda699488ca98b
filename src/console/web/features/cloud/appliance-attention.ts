import type { ApplianceRow } from "../../api/link-rows.ts";

/** What an appliance needs of people, the most urgent first. */
export const CARES = ["trouble", "away", "uneasy", "behind", "old", "well", "never", "revoked"] as const;

/** One of them. */
export type Care = (typeof CARES)[number];

/** Rows travel within seconds; own choice */
const BEHIND_MS = 60_000;

/** What an appliance needs; `offered` is the version that lies ready. */
export function careOf(row: ApplianceRow, offered: string | null, now: number): Care {
  if (row.link === "revoked" || row.link === "never") return row.link;
  if (row.health?.status === "RED" || row.alarms.length > 0) return "trouble";
  if (row.link === "away") return "away";
  if (row.health?.status === "YELLOW") return "uneasy";
  if ((row.rowsBehind ?? 0) > 0 && now - Date.parse(row.behindSince ?? "") > BEHIND_MS) return "behind";
  return offered !== null && row.version !== null && row.version !== offered ? "old" : "well";
}

/** Those that need most stand first, others in the order in which they came. */
export function byCare<T extends { care: Care }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => CARES.indexOf(a.care) - CARES.indexOf(b.care));
}

/** The most urgent of several; `well` for none. */
export function worstOf(cares: readonly Care[]): Care {
  return CARES.find((care) => cares.includes(care)) ?? "well";
}

/** How each is drawn; the sign says the same as the colour. */
export const CARE_LOOKS: Readonly<Record<Care, { tone: string; sign: string }>> = {
  trouble: { tone: "bad", sign: "✕" },
  away: { tone: "bad", sign: "?" },
  uneasy: { tone: "warn", sign: "!" },
  behind: { tone: "warn", sign: "…" },
  old: { tone: "warn", sign: "↑" },
  well: { tone: "good", sign: "✓" },
  never: { tone: "", sign: "○" },
  revoked: { tone: "", sign: "–" },
};
