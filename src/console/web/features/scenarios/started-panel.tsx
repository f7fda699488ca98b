import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { notificationState } from "../../api/notification-state.ts";
import type { NotificationRow } from "../../api/rows.ts";
import type { ScenarioRow, StartedScenarioRow } from "../../api/scenario-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useNow } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { DrillChip, NotificationStateChip } from "../../ui/status-chip.tsx";
import { StopButton } from "../../ui/stop-button.tsx";
import "../../ui/lines.css";
import "./scenarios.css";

interface StartedPanelProps {
  scenario: ScenarioRow;
  started: StartedScenarioRow;
  /** On a tablet there is no way into the console. */
  alone?: boolean;
  /** The way back. */
  children?: ReactNode;
}

/** What became of a start, growing, and what to do next. */
export function StartedPanel({ scenario, started, alone = false, children }: StartedPanelProps) {
  const { t } = useTranslation();
  const ids = started.events.flatMap(({ notificationId }) => notificationId ?? []);
  const sent = useRows<NotificationRow>("notifications", {}, { ids, sort: "createdAt" });
  const unsent = (started.messagesNotSent ?? []).map(({ name }) => name).join(", ");
  return (
    <section className={started.drill ? "card drill-edge" : "card live-edge"} aria-label={t("started.title")}>
      <div className="head">
        <DrillChip drill={started.drill} />
        <h2>{t(started.drill ? "started.drill" : "started.live", { name: scenario.name })}</h2>
      </div>
      <ErrorLine error={sent.error} />
      <ul className="plain lined">
        {sent.data?.data.map((row) => (
          <li key={row.id} className="stack tight">
            <Sent row={row} alone={alone} />
            <ReachBar outcomes={row.progress.outcomes} />
          </li>
        ))}
      </ul>
      {unsent !== "" && <p className="fault">{t("started.unsent", { names: unsent })}</p>}
      <Steps scenario={scenario} />
      {!alone && started.incidentId && (
        <Link className="call" to="/incidents/$incidentId" params={{ incidentId: started.incidentId }}>
          {t("started.incident")}
        </Link>
      )}
      {children}
    </section>
  );
}

/** How many people have answered what was asked. */
function answersTo({ confirmationResults }: NotificationRow): number {
  return Object.values(confirmationResults).reduce((sum, n) => sum + n, 0);
}

function Sent({ row, alone }: { row: NotificationRow; alone: boolean }) {
  const { t } = useTranslation();
  const state = notificationState(row, useNow());
  return (
    <div className="row">
      <NotificationStateChip row={row} />
      {alone ? (
        <strong className="grow">{row.subject}</strong>
      ) : (
        <Link className="grow" to="/broadcasts/$notificationId" params={{ notificationId: row.id }}>
          {row.subject}
        </Link>
      )}
      {!alone && row.confirmableCount > 0 && (
        <Link to="/broadcasts/$notificationId/roll-call" params={{ notificationId: row.id }}>
          {t("roll-call.count", { count: answersTo(row), all: row.confirmableCount })}
        </Link>
      )}
      {state === "going" && <StopButton row={row} />}
    </div>
  );
}

/** Next steps for the person who started it, and the number to call. */
function Steps({ scenario }: { scenario: ScenarioRow }) {
  const { t } = useTranslation();
  const { instructions, phoneNumber } = scenario;
  const steps = Object.entries(instructions ?? {}).flatMap(([key, text]) => (text ? [{ key, text }] : []));
  if (steps.length === 0 && !phoneNumber) return null;
  return (
    <>
      <h3>{t("started.next")}</h3>
      {steps.length > 0 && (
        <ol className="steps">
          {steps.map(({ key, text }) => (
            <li key={key}>{text}</li>
          ))}
        </ol>
      )}
      {phoneNumber && (
        <p>
          <a className="call" href={`tel:${phoneNumber.replace(/[^\d+*#]/g, "")}`}>
            {t("started.call", { number: phoneNumber })}
          </a>
        </p>
      )}
    </>
  );
}
