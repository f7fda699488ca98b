import { useRow } from "../../api/use-rows.ts";
import type { SentenceOfApi } from "../../i18n/translator.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ListTable } from "../../ui/list/list-table.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import "../../ui/lines.css";

interface HealthEventRow {
  id: string;
  status: "GREEN" | "YELLOW" | "RED";
  reasonSentences: readonly (SentenceOfApi & { text: string })[];
  endpointName: string | null;
  createdAt: string;
}

const TONES = { GREEN: "good", YELLOW: "warn", RED: "bad" } as const;

/** How the health changed, the newest first. */
export function HealthHistory() {
  const { t, name, say } = useTranslation();
  const reasonsOf = (row: HealthEventRow): string[] => row.reasonSentences.map((each) => say(each.text, each));
  return (
    <section className="card">
      <h2>{t("health-chart.history")}</h2>
      <div className="members-table">
        <ListTable<HealthEventRow>
          label={t("health-chart.history")}
          route="system-health-events"
          sort="-createdAt"
          columns={[
            {
              id: "status",
              head: t("field.status"),
              width: "8rem",
              cell: (row) => <Chip tone={TONES[row.status]}>{name("health", row.status)}</Chip>,
            },
            {
              id: "why",
              head: t("alarm.why"),
              width: "1fr",
              cell: (row) => (
                <span title={reasonsOf(row).join("\n")}>
                  {reasonsOf(row)[0] ?? "–"} {row.reasonSentences.length > 1 && `(+${row.reasonSentences.length - 1}) `}
                  <small className="soft">
                    {row.endpointName} <Timestamp at={row.createdAt} />
                  </small>
                </span>
              ),
            },
          ]}
          empty={<p>{t("health-chart.no-history")}</p>}
        />
      </div>
    </section>
  );
}

interface Run {
  startedAt: string;
  endedAt: string | null;
  ending: string | null;
  version: string;
}

const SHOWN = 20;

/** When the appliance was started, and how the runs before ended. */
export function DaemonRuns() {
  const { t } = useTranslation();
  const read = useRow<{ runs: readonly Run[] }>("runs", {}, { limit: SHOWN });
  const endOf = ({ ending, endedAt }: Run): string =>
    endedAt === null
      ? t("health-chart.running")
      : ending === "stopped"
        ? t("health-chart.stopped")
        : t("health-chart.cut-off", { how: ending ?? "" });
  return (
    <section className="card">
      <h2>{t("health-chart.runs")}</h2>
      <ErrorLine error={read.error} />
      <table className="numbers">
        <thead>
          <tr>
            <th scope="col">{t("health-chart.started")}</th>
            <th scope="col">{t("health-chart.ended")}</th>
            <th scope="col">{t("health-chart.version")}</th>
          </tr>
        </thead>
        <tbody>
          {(read.data?.runs ?? []).map((run) => (
            <tr key={run.startedAt}>
              <th scope="row">
                <Timestamp at={run.startedAt} />
              </th>
              <td>
                {endOf(run)} {run.endedAt && <Timestamp at={run.endedAt} />}
              </td>
              <td>{run.version}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
