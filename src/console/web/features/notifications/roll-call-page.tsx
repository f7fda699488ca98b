import { Button, Switch } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { NotificationRow, RollCall, RollCallEntry } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { downloadText } from "../../ui/download-text.ts";
import { ErrorLine } from "../../ui/error-line.tsx";
import { roomName } from "../../ui/room-name.ts";
import { Chip, DrillChip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { UnavailablePage } from "../../ui/unavailable-page.tsx";
import { rollCallCsv } from "./delivery-csv.ts";
import "../bells/print.css";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";
import { SubjectText } from "../../ui/subject-text.tsx";

/** People of a room on the screen; paper and the table name all. */
const PEOPLE_SHOWN = 200;

/** Responses to a notification by room; on screen, printed and as CSV. */
export default function RollCallPage() {
  const { t } = useTranslation();
  const { notificationId = "" } = useParams({ strict: false });
  const [missingOnly, setMissingOnly] = useState(false);
  const message = useRow<NotificationRow>("notifications/{notificationId}", { notificationId });
  const bounded = useRow<RollCall>(
    "notifications/{notificationId}/roll-call",
    { notificationId },
    { limit: PEOPLE_SHOWN },
  );
  const { client } = useConsole();
  const [onPaper, setOnPaper] = useState<RollCall | null>(null);
  const whole = useMutation({
    mutationFn: (then: (all: RollCall) => void) =>
      client.get<RollCall>("notifications/{notificationId}/roll-call", { notificationId }).then(then),
  });
  useEffect(() => {
    if (onPaper === null) return;
    window.print();
    setOnPaper(null);
  }, [onPaper]);
  const row = message.data;
  const call = onPaper ?? bounded.data;
  if (!row || !call) return <UnavailablePage title={t("roll-call.title")} error={message.error ?? bounded.error} />;
  const rooms = call.rooms
    .map((each) => ({ ...each, shown: each.people.filter(({ answer }) => !missingOnly || answer === null) }))
    .filter(({ shown }) => shown.length > 0);
  const file = `${row.createdAt.slice(0, 10)}-${row.id}-roll-call.csv`;
  const saveTable = (all: RollCall): void => downloadText(rollCallCsv(all), "text/csv", file);
  return (
    <div className="page">
      <header className={row.drill ? "card drill" : "card"}>
        <div className="head">
          <DrillChip drill={row.drill} />
          <PageTitle>{t("roll-call.title")}</PageTitle>
          <span className="space" />
          <Button variant="default" size="compact-md" onClick={() => whole.mutate(saveTable)}>
            {t("notification.export")}
          </Button>
          <Button variant="default" size="compact-md" onClick={() => whole.mutate(setOnPaper)}>
            {t("roll-call.print")}
          </Button>
        </div>
        <p>
          <Link to="/broadcasts/$notificationId" params={{ notificationId }}>
            <SubjectText row={row} />
          </Link>{" "}
          <Timestamp at={row.createdAt} />
        </p>
        <p aria-live="polite">
          <strong>{t("roll-call.count", { count: call.answered, all: call.total })}</strong>
        </p>
        {whole.error && <ErrorLine error={whole.error} />}
        <Switch
          label={t("roll-call.missing-only")}
          checked={missingOnly}
          onChange={(event) => setMissingOnly(event.currentTarget.checked)}
        />
      </header>
      {rooms.length === 0 && <p>{t(call.total === 0 ? "roll-call.none" : "roll-call.all-here")}</p>}
      {rooms.map(({ room, total, answered, shown }) => (
        <section key={room?.zoneId ?? ""} className="card" aria-label={room?.name ?? t("roll-call.nowhere")}>
          <div className="head">
            <h2>{room?.name ?? t("roll-call.nowhere")}</h2>
            {room && <span className="soft">{roomName(room)}</span>}
            <span className="space" />
            <strong>{t("roll-call.room-count", { count: answered, all: total })}</strong>
          </div>
          <ul className="plain lined">
            {shown.map((person) => (
              <Person key={person.recipientId} person={person} />
            ))}
          </ul>
          <More n={(missingOnly ? total - answered : total) - shown.length} />
        </section>
      ))}
    </div>
  );
}

function More({ n }: { n: number }) {
  const { t } = useTranslation();
  return n > 0 && <p className="soft">{t("roll-call.more", { count: n })}</p>;
}

function Person({ person }: { person: RollCallEntry }) {
  const { t } = useTranslation();
  const { name, answer, answeredAt } = person;
  return (
    <li className="row">
      <strong className="grow">{name}</strong>
      <Chip tone={answer === null ? "warn" : ""}>{answer ?? t("roll-call.nothing")}</Chip>
      {answeredAt && (
        <small className="soft">
          <Timestamp at={answeredAt} />
        </small>
      )}
    </li>
  );
}
