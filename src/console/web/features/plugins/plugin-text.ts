import type { ExtensionRow } from "../../api/rows.ts";
import type { Translator } from "../../i18n/translator.ts";

/** Failures within 10 minutes that disable a plugin. @source docs/decisions/0018-plugin-api.md */
const MAX_FAILURES = 5;

/** The sign of a plugin's state: "good", "warn", "bad", or "" for one that is meant to be off. */
export function pluginTone({ status }: Pick<ExtensionRow, "status">): string {
  if (status?.state === "running" && status.health === "unconfigured") return "";
  if (status?.state === "running") return status.health === "ok" ? "good" : status.health === "down" ? "bad" : "warn";
  if (status?.state === "restarting") return "warn";
  return status?.state === "disabled" ? "" : "bad";
}

/** State of a plugin as text. */
export function pluginStateText({ status }: Pick<ExtensionRow, "status">): string {
  const { state, health } = status ?? { state: "absent", health: "down" };
  return state === "running" && health !== "ok" ? health : state;
}

/** How a plugin runs, why, and what comes next, in a sentence; `now` is epoch ms. Empty when there is nothing to say. */
export function pluginStatusText(
  row: Pick<ExtensionRow, "status" | "disabled">,
  now: number,
  { t, say }: Translator,
): string {
  const { state, failures, nextTryAt, ...rest } = row.status ?? { state: "absent", reason: null, failures: 0 };
  const reason = rest.reason && say(rest.reason, rest.reasonSentence);
  switch (state) {
    case "running":
      return reason ?? "";
    case "restarting": {
      if (!nextTryAt) return reason ? t("plugin.starting-after", { reason }) : t("plugin.starting");
      const seconds = Math.max(0, Math.ceil((Date.parse(nextTryAt) - now) / 1_000));
      return t("plugin.next-try", { reason: reason ?? "–", seconds, failures, most: MAX_FAILURES });
    }
    case "stopped":
      return t("plugin.given-up", { reason: reason ?? "–", most: MAX_FAILURES });
    case "disabled":
      return row.disabled || !reason ? t("plugin.switched-off") : t("plugin.unable", { reason });
    default:
      return reason ? t("plugin.unable", { reason }) : t("plugin.not-here");
  }
}
