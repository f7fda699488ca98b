import type { DeliveryLevel } from "../../../../resources/notifications/delivery-levels.ts";
import {
  type DeviceOutcome,
  deviceOutcome,
  OUTCOME_TONES,
} from "../../../../resources/notifications/device-outcomes.ts";
import type { TimelineEntry } from "../../api/scenario-rows.ts";
import { elapsedText } from "../../i18n/format.ts";
import type { Translator } from "../../i18n/translator.ts";

/** The sign of an entry: "good", "warn", "bad" or "". */
export function entryTone({ kind, what }: Pick<TimelineEntry, "kind" | "what">): string {
  if (kind === "devices") return OUTCOME_TONES[outcomeOf(what)];
  if (kind === "message" || what === "start-incident") return "warn";
  return what === "all-clear" || what === "end-incident" ? "good" : "";
}

/** Label of a timeline entry. */
export function entryLabel({ kind, what }: Pick<TimelineEntry, "kind" | "what">, { t, name }: Translator): string {
  if (kind === "devices") return name("outcome", outcomeOf(what));
  if (kind === "answers") return what;
  if (kind === "message") return t("timeline.sent");
  return name(kind === "step" ? "step" : "activity", what);
}

function outcomeOf(level: string): DeviceOutcome {
  return deviceOutcome({ level: level as DeliveryLevel, textOnly: false });
}

/** Text of a timeline entry: note, or how many and who. */
export function entrySentence(entry: TimelineEntry, { t, say }: Translator): string {
  const { kind, count, names, words, wordsSentence } = entry;
  if (kind !== "devices" && kind !== "answers") return say(words ?? "", wordsSentence);
  const more = count > names.length ? " …" : "";
  const who = names.length === 0 ? "" : `: ${names.join(", ")}${more}`;
  return `${t(kind === "devices" ? "timeline.devices" : "timeline.people", { count })}${who}`;
}

/** Time since the incident began, as `+0:07`. */
export function sinceText(at: string, beganAt: string): string {
  return `+${elapsedText(Date.parse(at) - Date.parse(beganAt))}`;
}
