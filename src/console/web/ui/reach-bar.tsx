import {
  DEVICE_OUTCOMES,
  type DeviceOutcome,
  OUTCOME_TONES,
  type OutcomeCounts,
  outcomeTotal,
  reachedTotal,
} from "../../../resources/notifications/device-outcomes.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** What the text names beside the reached devices, the worst first. */
const NAMED = ["notReached", "textOnly", "noReceipt", "skipped"] as const satisfies readonly DeviceOutcome[];

/** Outcomes of a message as a bar with text. */
export function ReachBar({ outcomes }: { outcomes: OutcomeCounts }) {
  const { t, name } = useTranslation();
  const total = outcomeTotal(outcomes);
  const named = NAMED.filter((outcome) => outcomes[outcome] > 0);
  return (
    <div>
      <div className="bar" aria-hidden="true">
        {DEVICE_OUTCOMES.filter((outcome) => outcomes[outcome] > 0 && outcome !== "waiting").map((outcome) => (
          <span
            key={outcome}
            className={OUTCOME_TONES[outcome]}
            style={{ width: `${(100 * outcomes[outcome]) / total}%` }}
          />
        ))}
      </div>
      <span className="soft">
        {total === 0 ? t("reach.none-yet") : t("reach.of", { reached: reachedTotal(outcomes), count: total })}
        {named.map(
          (outcome) => ` · ${t("reach.outcome", { outcome: name("outcome", outcome), count: outcomes[outcome] })}`,
        )}
      </span>
    </div>
  );
}
