import type { DayChangeRow } from "../../api/bell-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";
import { dateRangeText, dayChangeText } from "./day-change-text.ts";

const SHOWN_NAMES = 3;

/** The day changes that touch one of some days, each to be taken back. */
export function DayChanges({ first, last }: { first: string; last: string }) {
  const translator = useTranslation();
  const { t, language } = translator;
  const gone = usePendingRemovalIds();
  const found = useRows<DayChangeRow>("bell-schedules-day-changes", {}, { sort: "-createdAt", limit: 200 });
  const changes = (found.data?.data ?? []).filter(
    ({ id, startDate, endDate }) => !gone.has(id) && startDate <= last && first <= (endDate ?? startDate),
  );
  return (
    <>
      <ErrorLine error={found.error} />
      {changes.length > 0 && (
        <section className="card">
          <h2>{t("day-change.here")}</h2>
          <ul className="plain lined">
            {changes.map((row) => (
              <li key={row.id} className="row">
                <span className="grow">
                  <strong>{dateRangeText(row, language)}</strong>: {dayChangeText(row, translator)}{" "}
                  <small className="soft">{[namesOf(row, t), row.description].filter(Boolean).join(" · ")}</small>
                </span>
                {row.permissions.includes("delete") && (
                  <RemoveButton
                    route="bell-schedules-day-changes/{dayChangeId}"
                    params={{ dayChangeId: row.id }}
                    id={row.id}
                    name={dayChangeText(row, translator)}
                    label={t("day-change.take-back")}
                  />
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function namesOf({ schedulesAffected }: DayChangeRow, t: ReturnType<typeof useTranslation>["t"]): string {
  const names = schedulesAffected.slice(0, SHOWN_NAMES).map(({ name }) => name);
  const more = schedulesAffected.length - names.length;
  return [...names, ...(more > 0 ? [t("day-change.more-schedules", { count: more })] : [])].join(", ");
}
