import { Link } from "@tanstack/react-router";
import { outcomeFilter } from "../../../../resources/notifications/outcome-counts.ts";
import type { RingRow, RingState } from "../../api/bell-rows.ts";
import type { DeliveryRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { OutcomeChip } from "../../ui/outcome-chip.tsx";

const SOUNDED: ReadonlySet<RingState> = new Set(["started", "rung", "late"]);

/** Whether there is a message with an outcome. */
export function hasSounded({ state }: RingRow): boolean {
  return SOUNDED.has(state);
}

const SHOWN = 20;

/** The devices that a ring did not reach, each with the reason. */
export function RingOutcome({ notificationId }: { notificationId: string }) {
  const { t, say } = useTranslation();
  const { levels } = outcomeFilter("notReached");
  const found = useRows<DeliveryRow>(
    "notifications/{notificationId}/devices",
    { notificationId },
    { levels: JSON.stringify(levels), limit: SHOWN },
  );
  const { data: rows = [], total = 0 } = found.data ?? {};
  return (
    <section className="stack">
      <h3>{t("ring.outcome")}</h3>
      <ErrorLine error={found.error} />
      {found.data && total === 0 && <p>{t("ring.missed-none")}</p>}
      {total > 0 && <p>{t("ring.missed-by", { count: total })}</p>}
      <ul className="plain">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <OutcomeChip delivery={row} />
            <strong>{row.name ?? row.deviceIdentifier}</strong>
            {row.reason && <span className="soft">{say(row.reason, row.reasonSentence)}</span>}
          </li>
        ))}
      </ul>
      {total > rows.length && (
        <Link to="/broadcasts/$notificationId" params={{ notificationId }} search={{ outcome: "notReached" }}>
          {t("ring.missed-more", { count: total - rows.length })}
        </Link>
      )}
    </section>
  );
}
