import type { ApplianceRow } from "../../api/link-rows.ts";

/** Attention levels of appliances, most urgent first. */
export const ATTENTION_LEVELS = ["trouble", "away", "uneasy", "behind", "old", "well", "never", "revoked"] as const;

/** One of the levels. */
export type AttentionLevel = (typeof ATTENTION_LEVELS)[number];

/** Replication usually takes seconds. */
const BEHIND_MS = 60_000;

/** Attention level of an appliance; `offered` is the version offered for upgrades. */
export function attentionLevelOf(row: ApplianceRow, offered: string | null, now: number): AttentionLevel {
  if (row.link === "revoked" || row.link === "never") return row.link;
  if (row.health?.status === "RED" || row.alarms.length > 0) return "trouble";
  if (row.link === "away") return "away";
  if (row.health?.status === "YELLOW") return "uneasy";
  if ((row.rowsBehind ?? 0) > 0 && now - Date.parse(row.behindSince ?? "") > BEHIND_MS) return "behind";
  return offered !== null && row.version !== null && row.version !== offered ? "old" : "well";
}

/** Sorts by urgency, otherwise stable. */
export function byAttention<T extends { attention: AttentionLevel }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => ATTENTION_LEVELS.indexOf(a.attention) - ATTENTION_LEVELS.indexOf(b.attention));
}

/** The most urgent of several; `well` for none. */
export function mostUrgent(levels: readonly AttentionLevel[]): AttentionLevel {
  return ATTENTION_LEVELS.find((level) => levels.includes(level)) ?? "well";
}

/** Colour and icon of each level. */
export const ATTENTION_STYLES: Readonly<Record<AttentionLevel, { tone: string; sign: string }>> = {
  trouble: { tone: "bad", sign: "✕" },
  away: { tone: "bad", sign: "?" },
  uneasy: { tone: "warn", sign: "!" },
  behind: { tone: "warn", sign: "…" },
  old: { tone: "warn", sign: "↑" },
  well: { tone: "good", sign: "✓" },
  never: { tone: "", sign: "○" },
  revoked: { tone: "", sign: "–" },
};
