import type { DayChangeRow } from "../../api/bell-rows.ts";
import type { Translator } from "../../i18n/translator.ts";
import { dayText, shortTime } from "./calendar-dates.ts";

/** A day change as text. */
export function dayChangeText(change: DayChangeRow, { t, language }: Pick<Translator, "t" | "language">): string {
  const { kind, minutes, from, until, likeDate } = change;
  const times = { from: shortTime(from ?? "00:00:00"), until: shortTime(until ?? "") };
  if (kind === "delay") return t("day-change.text-delay", { count: minutes ?? 0 });
  if (kind === "early-dismissal") return t("day-change.text-early", times);
  if (kind === "no-bells") return t("day-change.text-none");
  if (kind === "mute") return t("day-change.text-mute", times);
  if (kind === "move-ring") return t("day-change.text-move", times);
  if (kind === "mute-hours") return t("day-change.text-mute-hours", times);
  return likeDate ? t("day-change.text-like", { day: dayText(likeDate, language, "long") }) : t("day-change.text-list");
}

/** A range of days as text; `short` includes the year, `column` the weekday. */
export function dateRangeText(
  { startDate, endDate }: { startDate: string; endDate: string | null },
  language: Translator["language"],
  style: "column" | "short" = "column",
): string {
  const first = dayText(startDate, language, style);
  return endDate === null || endDate === startDate ? first : `${first} – ${dayText(endDate, language, style)}`;
}

/** A change of a ring list on some days as text, from `delay 60` and the like. */
export function ringListChangeText(change: string, { t }: Pick<Translator, "t">): string {
  const [kind, first = "", second = ""] = change.split(" ");
  if (kind === "delay") return t("day-change.text-delay", { count: Number(first) });
  if (kind === "earlier") return t("day-change.text-earlier", { count: Number(first) });
  if (kind === "end") return t("day-change.text-early", { until: shortTime(first) });
  if (kind === "move") return t("day-change.text-move", { until: shortTime(second) });
  return t("day-change.text-mute-hours", { from: shortTime(first), until: shortTime(second) });
}
