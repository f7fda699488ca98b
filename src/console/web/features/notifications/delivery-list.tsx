import { Button } from "@mantine/core";
import { useState } from "react";
import { DEVICE_OUTCOMES, type DeviceOutcome } from "../../../../resources/notifications/device-outcomes.ts";
import { outcomeFilter } from "../../../../resources/notifications/outcome-counts.ts";
import type { ApiClient, RowPage } from "../../api/client.ts";
import type { RouteQuery } from "../../api/routes.ts";
import type { DeliveryRow, NotificationRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { errorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { downloadText } from "../../ui/download-text.ts";
import type { Column } from "../../ui/list/column.ts";
import { ListTable } from "../../ui/list/list-table.tsx";
import { SearchField } from "../../ui/list/search-field.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { OutcomeChip } from "../../ui/outcome-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { deliveryCsv } from "./delivery-csv.ts";

/** Deliveries, one line per device. */
export function DeliveryList({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const [{ outcome, q, sort }, show] = useTableSearch();
  const chosen = DEVICE_OUTCOMES.find((each) => each === outcome);
  const columns: Column<DeliveryRow>[] = [
    {
      id: "name",
      head: t("field.name"),
      width: "1.3fr",
      sort: "name",
      cell: (each) => each.name ?? each.deviceIdentifier,
    },
    { id: "identifier", head: t("field.deviceIdentifier"), width: "1.3fr", cell: (each) => each.deviceIdentifier },
    {
      id: "level",
      head: t("notification.outcome"),
      width: "11rem",
      sort: "level",
      side: true,
      cell: (each) => <OutcomeChip delivery={each} />,
    },
    { id: "reason", head: t("field.reason"), width: "2fr", wraps: true, cell: (each) => <Reason row={each} /> },
    { id: "took", head: t("notification.took"), width: "6rem", cell: (each) => <Took row={each} /> },
  ];
  return (
    <section className="stack ledger">
      <div className="head">
        <h2>{t("notification.ledger")}</h2>
        <span className="space" />
        <SearchField value={q ?? ""} onSearch={(text) => show({ q: text })} />
        <ExportButton row={row} />
      </div>
      <ListTable<DeliveryRow>
        label={t("notification.ledger")}
        route="notifications/{notificationId}/devices"
        params={{ notificationId: row.id }}
        query={{ ...(chosen ? outcomeQuery(chosen) : {}), ...(q ? { q } : {}) }}
        columns={columns}
        sort={sort}
        onSort={(next) => show({ sort: next })}
        empty={<p>{q ? t("search.none") : chosen ? t("notification.none-at-level") : t("notification.none")}</p>}
      />
    </section>
  );
}

/** Why it has its level, and what a microphone in the room recorded. */
function Reason({ row }: { row: DeliveryRow }) {
  const { level, reason, reasonSentence, matchDelayMs, matchLevelDb, attempt, nextAttemptAt } = row;
  const { t, say } = useTranslation();
  const isMeasured = level === "heard" && matchDelayMs !== null && matchLevelDb !== null;
  const match = isMeasured && t("notification.match", { delay: Math.round(matchDelayMs), level: matchLevelDb });
  const said = [reason && say(reason, reasonSentence), match].filter(Boolean).join(" ");
  if (!nextAttemptAt) return <>{said}</>;
  return (
    <>
      {said} <span className="soft">{t("notification.next-attempt", { number: attempt + 1 })} </span>
      <Timestamp at={nextAttemptAt} />
    </>
  );
}

/** The query for the deliveries of one outcome. */
function outcomeQuery(outcome: DeviceOutcome): RouteQuery {
  const { levels, textOnly } = outcomeFilter(outcome);
  return { levels: JSON.stringify(levels), ...(textOnly === null ? {} : { textOnly }) };
}

/** From the plan to the last word of the device. */
function Took({ row }: { row: DeliveryRow }) {
  const { t } = useTranslation();
  const end = row.playingAt ?? row.acceptedAt ?? row.sentAt ?? row.endedAt;
  if (!end || !row.plannedAt) return <span>–</span>;
  return <span>{t("seconds", { count: Math.round((Date.parse(end) - Date.parse(row.plannedAt)) / 100) / 10 })}</span>;
}

function ExportButton({ row }: { row: NotificationRow }) {
  const translator = useTranslation();
  const { client, notify } = useConsole();
  const [done, setDone] = useState<number | null>(null);
  const run = async () => {
    setDone(0);
    try {
      const csv = deliveryCsv(await allDeliveries(client, row.id, setDone), translator.say);
      downloadText(csv, "text/csv", `${row.createdAt.slice(0, 10)}-${row.id}.csv`);
    } catch (error) {
      notify(errorText(error, translator));
    }
    setDone(null);
  };
  return (
    <Button variant="default" size="compact-md" loading={done !== null} onClick={() => void run()}>
      {translator.t("notification.export")}
    </Button>
  );
}

async function allDeliveries(client: ApiClient, notificationId: string, onCount: (n: number) => void) {
  const rows: DeliveryRow[] = [];
  for (let start: string | null = ""; start !== null; ) {
    const page: RowPage<DeliveryRow> = await client.get(
      "notifications/{notificationId}/devices",
      { notificationId },
      { limit: 1_000, ...(start ? { start } : {}) },
    );
    rows.push(...page.data);
    onCount(rows.length);
    start = page.next;
  }
  return rows;
}
