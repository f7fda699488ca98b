import { Button, Textarea } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { routeUrl } from "../../api/routes.ts";
import type { TemplateRow } from "../../api/rows.ts";
import type { IncidentPlanRow, IncidentRow } from "../../api/scenario-rows.ts";
import { useRow, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole, useNow } from "../../console-context.tsx";
import { isSentAlready } from "../../i18n/error-text.ts";
import { elapsedText } from "../../i18n/format.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { UnavailablePage } from "../../ui/unavailable-page.tsx";
import { Aids, INCIDENT_AIDS } from "./aids.tsx";
import { IncidentStateChip } from "./incident-state.tsx";
import { Roster } from "./roster.tsx";
import { Timeline } from "./timeline.tsx";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";
import "./incidents.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** One incident: timeline, actions, files and roster. */
export default function IncidentPage() {
  const { t } = useTranslation();
  const { incidentId = "" } = useParams({ strict: false });
  const { data: row, error } = useRow<IncidentRow>("incidents/{incidentId}", { incidentId });
  if (!row) return <UnavailablePage title={t("dashboard.incident")} error={error} />;
  return (
    <div className={row.drill ? "page in-drill" : "page"}>
      <Header row={row} />
      <div className="split">
        <Timeline incident={row} />
        <div className="stack">
          {row.endedAt === null && <NextSteps row={row} />}
          <Roster incident={row} />
          {row.endedAt === null && <NoteCard row={row} />}
          <section className="card">
            <h2>{t("aid.title")}</h2>
            <Aids of={INCIDENT_AIDS} params={{ incidentId: row.id }} editable={row.endedAt === null} />
          </section>
        </div>
      </div>
    </div>
  );
}

function Header({ row }: { row: IncidentRow }) {
  const { t } = useTranslation();
  const now = useNow();
  const until = row.endedAt === null ? now : Date.parse(row.endedAt);
  const where = [row.site, row.building, row.floor, row.zone].flatMap((place) => place?.name ?? []).join(", ");
  return (
    <header className={row.drill ? "card drill" : "card"}>
      <div className="head">
        <DrillChip drill={row.drill} />
        <PageTitle>{row.name ?? t("incidents.unnamed")}</PageTitle>
        <IncidentStateChip row={row} />
        <strong className="elapsed">{elapsedText(until - Date.parse(row.createdAt))}</strong>
        <span className="space" />
        <Button
          component="a"
          variant="default"
          target="_blank"
          rel="noreferrer"
          href={routeUrl("incidents/{incidentId}/report/page", { incidentId: row.id })}
        >
          {t("incident.report")}
        </Button>
        {row.endedAt === null && <Ends row={row} />}
      </div>
      <p>
        {t("incident.began")} <Timestamp at={row.createdAt} />
        {row.startedBy && ` · ${row.startedBy.name}`}
        {where !== "" && ` · ${where}`}
        {row.incidentPlan && ` · ${row.incidentPlan.name}`}
        {row.endedAt && (
          <>
            {` · ${t("incident.ended")} `}
            <Timestamp at={row.endedAt} />
          </>
        )}
      </p>
    </header>
  );
}

function useStep(row: IncidentRow) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  return useRowMutation<{ type: string; details?: object }, void>("incidents", async (step) => {
    await client.post("incidents/{incidentId}/activities", { incidentId: row.id }, step);
    notify(
      t(step.type === "note" ? "saved" : step.type === "all-clear" ? "incident.clear-sent" : "incident.was-ended"),
    );
  });
}

/**
 * The all-clear of a live incident is held, since a slip must not call off a lockdown, and said to have been sent before it
 * is sent once more; the end sends nothing.
 */
function Ends({ row }: { row: IncidentRow }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const clear = useStep(row);
  const end = useStep(row);
  const again = isSentAlready(clear.error);
  const label = t(again ? "all-clear.once-more" : "all-clear.go");
  const sendClear = () =>
    clear.mutate({
      type: "all-clear",
      details: {
        subject: t("all-clear.subject", { subject: row.name ?? "" }).slice(0, 255),
        body: t("all-clear.body"),
        ifNoneReady: true,
        ...(again && { again }),
      },
    });
  return (
    <>
      {row.drill ? (
        <Button color="yellow" className="drill" loading={clear.isPending} onClick={sendClear}>
          {`${label} · ${t("drill.word")}`}
        </Button>
      ) : (
        <HoldButton className="all-clear" disabled={clear.isPending} onHeld={sendClear}>
          <strong>{label}</strong>
        </HoldButton>
      )}
      <Button variant="default" onClick={() => setAsking(true)}>
        {t("incident.end")}
      </Button>
      <ErrorLine error={clear.error} />
      {asking && (
        <Dialog title={t("incident.end-title")} onClose={() => setAsking(false)}>
          <div className="stack">
            <p>{t("incident.end-text")}</p>
            <ErrorLine error={end.error} />
            <div className="row">
              <Button
                data-autofocus
                loading={end.isPending}
                onClick={() => end.mutate({ type: "end-incident" }, { onSuccess: () => setAsking(false) })}
              >
                {t("incident.end")}
              </Button>
              <Button variant="default" onClick={() => setAsking(false)}>
                {t("cancel")}
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** What the plan offers: follow-up messages, and scenarios of their own. */
function NextSteps({ row }: { row: IncidentRow }) {
  const { t } = useTranslation();
  const offers = useRows<TemplateRow>(
    "incidents/{incidentId}/message-templates",
    { incidentId: row.id },
    { sort: "name", limit: 100 },
  );
  const plan = useRow<IncidentPlanRow>(
    "incident-plans/{incidentPlanId}",
    { incidentPlanId: row.incidentPlanId ?? "" },
    {},
    { enabled: row.incidentPlanId !== null },
  );
  const templates = offers.data?.data ?? [];
  const scenarios = (row.incidentPlanId && plan.data?.scenarios) || [];
  if (templates.length + scenarios.length === 0) return null;
  const follow = row.notificationId ? { follow: row.notificationId } : {};
  return (
    <section className="card">
      <h2>{t("follow.offer")}</h2>
      <ErrorLine error={offers.error ?? plan.error} />
      <div className="tiles">
        {templates.map(({ id, name, subject }) => (
          <Link key={id} className="tile" to="/send" search={{ open: id, ...follow }}>
            {name}
            <small>{subject}</small>
          </Link>
        ))}
        {scenarios.map(({ id, name }) => (
          <Link key={id} className="tile" to="/scenarios/$scenarioId/start" params={{ scenarioId: id }}>
            {name}
            <small>{t("incident.scenario")}</small>
          </Link>
        ))}
      </div>
    </section>
  );
}

function NoteCard({ row }: { row: IncidentRow }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const note = useStep(row);
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        note.mutate({ type: "note", details: { message: text.trim() } }, { onSuccess: () => setText("") });
      }}
    >
      <Textarea
        label={t("incident.note")}
        description={t("incident.note-hint")}
        autosize
        minRows={2}
        maxLength={2_000}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <ErrorLine error={note.error} />
      <div>
        <Button type="submit" variant="default" disabled={text.trim() === ""} loading={note.isPending}>
          {t("incident.add-note")}
        </Button>
      </div>
    </form>
  );
}
