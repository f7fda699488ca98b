import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { DELIVERY_LEVELS } from "../../../resources/broadcasts/delivery-levels.ts";
import type { Client, Page } from "../api/client.ts";
import type { ActivityRow, DeliveryRow, NotificationRow } from "../api/rows.ts";
import { stateOf } from "../api/sounding.ts";
import { useRow, useRows } from "../api/use-rows.ts";
import { useConsole, useNow } from "../console-context.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { Chip, DrillChip, LevelChip } from "../parts/level-chip.tsx";
import { Moment } from "../parts/moment.tsx";
import { ReachBar } from "../parts/reach-bar.tsx";
import { type Column, ServerTable } from "../parts/server-table.tsx";
import { StopButton } from "../parts/stop-button.tsx";
import { useTableSearch } from "../parts/use-table-search.ts";
import { faultWords } from "../words/fault-words.ts";
import { elapsedText } from "../words/format.ts";
import { useWords } from "../words/use-words.tsx";
import { deliveryCsv } from "./delivery-csv.ts";

/** Who got it, who didn't, what now. */
export default function BroadcastPage() {
  const { notificationId = "" } = useParams({ strict: false });
  const { data: row, error } = useRow<NotificationRow>("notifications/{notificationId}", { notificationId });
  if (!row) return <FaultLine error={error} />;
  return (
    <div className="page">
      <Header row={row} />
      <Levels row={row} />
      <Ledger row={row} />
      <div className="grid">
        <MessageCard row={row} />
        <Diary notificationId={row.id} />
      </div>
    </div>
  );
}

function Header({ row }: { row: NotificationRow }) {
  const { t, name } = useWords();
  const now = useNow();
  const state = stateOf(row);
  return (
    <header className={row.drill ? "card drill" : "card"}>
      <div className="head">
        <DrillChip drill={row.drill} />
        <h1>{row.subject}</h1>
        <Chip tone={state === "finished" ? "good" : state === "stopped" ? "warn" : state === "failed" ? "bad" : ""}>
          {name("state", state)}
        </Chip>
        <span className="space" />
        {state === "going" && (
          <>
            <span>{elapsedText(now - Date.parse(row.createdAt))}</span>
            <StopButton id={row.id} subject={row.subject ?? ""} />
          </>
        )}
      </div>
      <p>
        {t("broadcast.sent")} <Moment at={row.createdAt} />
        {row.initiator && ` · ${row.initiator.name}`}
      </p>
    </header>
  );
}

function Levels({ row }: { row: NotificationRow }) {
  const { t, name } = useWords();
  const [{ level }, show] = useTableSearch();
  const counts = row.progress.devices;
  const levels = DELIVERY_LEVELS.filter((each) => (counts[each] ?? 0) > 0 || each === level);
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
  return (
    <section className="card" aria-label={t("broadcast.levels")} aria-live="polite">
      <ReachBar devices={counts} />
      <div className="row">
        <button type="button" className="chip-button" aria-pressed={!level} onClick={() => show({ level: undefined })}>
          <strong>{total}</strong>
          {t("broadcast.all")}
        </button>
        {levels.map((each) => (
          <button
            key={each}
            type="button"
            className="chip-button"
            aria-pressed={level === each}
            onClick={() => show({ level: each })}
          >
            <strong>{counts[each] ?? 0}</strong>
            {name("level", each)}
          </button>
        ))}
      </div>
    </section>
  );
}

function Ledger({ row }: { row: NotificationRow }) {
  const { t } = useWords();
  const [{ level, sort }, show] = useTableSearch();
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
      head: t("field.level"),
      width: "1fr",
      sort: "level",
      cell: (each) => <LevelChip level={each.level} />,
    },
    { id: "reason", head: t("field.reason"), width: "2fr", cell: (each) => each.reason ?? "" },
    { id: "took", head: t("broadcast.took"), width: "6rem", cell: (each) => <Took row={each} /> },
  ];
  return (
    <section className="stack" style={{ height: "32rem" }}>
      <div className="head">
        <h2>{t("broadcast.ledger")}</h2>
        <span className="space" />
        <ExportButton row={row} />
      </div>
      <ServerTable<DeliveryRow>
        label={t("broadcast.ledger")}
        route="notifications/{notificationId}/devices"
        params={{ notificationId: row.id }}
        query={level ? { level } : {}}
        columns={columns}
        sort={sort}
        onSort={(next) => show({ sort: next })}
        empty={<p>{level ? t("broadcast.none-at-level") : t("broadcast.none")}</p>}
      />
    </section>
  );
}

/** From the plan to the last word of the device. */
function Took({ row }: { row: DeliveryRow }) {
  const { t } = useWords();
  const end = row.playingAt ?? row.acceptedAt ?? row.sentAt ?? row.endedAt;
  if (!end || !row.plannedAt) return <span>–</span>;
  return <span>{t("seconds", { n: Math.round((Date.parse(end) - Date.parse(row.plannedAt)) / 100) / 10 })}</span>;
}

function ExportButton({ row }: { row: NotificationRow }) {
  const words = useWords();
  const { client, say } = useConsole();
  const [done, setDone] = useState<number | null>(null);
  const run = async () => {
    setDone(0);
    try {
      save(deliveryCsv(await allDeliveries(client, row.id, setDone)), `${row.createdAt.slice(0, 10)}-${row.id}.csv`);
    } catch (error) {
      say(faultWords(error, words));
    }
    setDone(null);
  };
  return (
    <Button variant="default" size="compact-md" loading={done !== null} onClick={() => void run()}>
      {words.t("broadcast.export")}
    </Button>
  );
}

async function allDeliveries(client: Client, notificationId: string, onCount: (n: number) => void) {
  const rows: DeliveryRow[] = [];
  for (let start: string | null = ""; start !== null; ) {
    const page: Page<DeliveryRow> = await client.get(
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

function save(text: string, fileName: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(link.href);
}

function MessageCard({ row }: { row: NotificationRow }) {
  const { t } = useWords();
  const names = (all: readonly { name: string }[]) => all.map(({ name }) => name).join(", ") || "–";
  const answers = Object.entries(row.confirmationResults);
  return (
    <section className="card">
      <h2>{t("broadcast.message")}</h2>
      {row.body && <p style={{ whiteSpace: "pre-wrap" }}>{row.body}</p>}
      <dl className="facts">
        <dt>{t("field.alertTone")}</dt>
        <dd>{row.alertTone ?? "–"}</dd>
        <dt>{t("field.deviceGroupIds")}</dt>
        <dd>{names(row.deviceGroups)}</dd>
        <dt>{t("field.distributionListIds")}</dt>
        <dd>{names(row.distributionLists)}</dd>
        <dt>{t("reach.people")}</dt>
        <dd>{t("broadcast.read", { n: row.readCount, total: row.recipientCount })}</dd>
        {answers.map(([answer, n]) => (
          <Answer key={answer} answer={answer} n={n} />
        ))}
      </dl>
    </section>
  );
}

function Answer({ answer, n }: { answer: string; n: number }) {
  return (
    <>
      <dt>{answer}</dt>
      <dd>{n}</dd>
    </>
  );
}

function Diary({ notificationId }: { notificationId: string }) {
  const { t, name } = useWords();
  const activities = useRows<ActivityRow>(
    "notifications/{notificationId}/activities",
    { notificationId },
    { limit: 200 },
  );
  return (
    <section className="card">
      <h2>{t("broadcast.diary")}</h2>
      <ol className="plain">
        {activities.data?.data.map((row) => (
          <li key={row.id} className="row">
            <span className="soft">
              <Moment at={row.createdAt} />
            </span>
            {name("activity", row.type)}
            {row.user && <span className="soft">{row.user.name}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
