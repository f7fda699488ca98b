import type { AcceptedNotification, ReachWarning } from "../../api/rows.ts";
import type { Translator } from "../../i18n/translator.ts";

/** Why a message would reach no one; null if it reaches any. */
export function reachWarningOf({ warnings = [] }: Pick<AcceptedNotification, "warnings">): ReachWarning | null {
  return warnings.find((warning): warning is ReachWarning => warning.code !== "unfilled-variables") ?? null;
}

/** Why a message would reach no one, in the language of the user. */
export function reachWarningText({ code }: ReachWarning, t: Translator["t"]): string {
  return t(`reach-warning.${code}`);
}
