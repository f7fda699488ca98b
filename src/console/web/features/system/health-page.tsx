import type { HealthSample } from "../../api/rows.ts";
import { usePolling, useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ChartCard } from "../../ui/chart-card.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { HealthCard } from "../../ui/health-card.tsx";
import { PageTitle } from "../../ui/page-title.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import type { ChartLine } from "../../ui/time-chart.tsx";
import { DaemonRuns, HealthHistory } from "./health-history.tsx";

const MIB = 1_048_576;
const SHOWN_IN_TABLE = 60;

/** How the appliance is and was in the last day. */
export default function HealthPage() {
  const { t } = useTranslation();
  const series = useRow<{ samples: readonly HealthSample[] }>("health-series");
  usePolling("health-series");
  const samples = series.data?.samples ?? [];
  const line = (name: string, label: string, look: Pick<ChartLine, "colour" | "dash">, of: ValueOf): ChartLine => ({
    ...{ name, label, ...look },
    values: samples.map(of),
  });
  const pace = [
    line("lag", t("health-chart.lag"), { colour: "--accent", dash: [] }, ({ loopLagMs }) => loopLagMs),
    line("write", t("health-chart.write"), { colour: "--good", dash: [6, 3] }, ({ writeMs }) => writeMs),
  ];
  const room = [
    line("disk", t("health-chart.disk"), { colour: "--good", dash: [] }, ({ diskFreeBytes }) => inMib(diskFreeBytes)),
    line("memory", t("health-chart.memory"), { colour: "--accent", dash: [6, 3] }, ({ memoryFreeBytes }) =>
      inMib(memoryFreeBytes),
    ),
    line("resident", t("health-chart.resident"), { colour: "--bad", dash: [2, 3] }, ({ residentBytes }) =>
      inMib(residentBytes),
    ),
  ];
  const work = [
    line(
      "broadcasts",
      t("health-chart.broadcasts"),
      { colour: "--accent", dash: [] },
      (sample) => sample.broadcastsUnderWay,
    ),
    line("alarms", t("health-chart.alarms"), { colour: "--bad", dash: [2, 3] }, (sample) => sample.alarmActionsWaiting),
    line(
      "webhooks",
      t("health-chart.webhooks"),
      { colour: "--good", dash: [6, 3] },
      (sample) => sample.webhooksWaiting,
    ),
  ];
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("health-chart.title")}</PageTitle>
      <HealthCard />
      <p className="soft">{t("health-chart.intro")}</p>
      <ErrorLine error={series.error} />
      {series.data && samples.length === 0 && <p role="status">{t("health-chart.none")}</p>}
      {samples.length > 0 && (
        <>
          <Graph title={t("health-chart.pace")} unit={t("health-chart.ms")} samples={samples} lines={pace} />
          <Graph title={t("health-chart.work")} unit={t("health-chart.count")} samples={samples} lines={work} />
          <Graph title={t("health-chart.room")} unit={t("health-chart.mib")} samples={samples} lines={room} />
        </>
      )}
      <HealthHistory />
      <DaemonRuns />
    </div>
  );
}

type ValueOf = (sample: HealthSample) => number | null;

interface GraphProps {
  title: string;
  unit: string;
  samples: readonly HealthSample[];
  lines: readonly ChartLine[];
}

function Graph({ title, unit, samples, lines }: GraphProps) {
  const { t, language } = useTranslation();
  const format = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  const moment = (seconds: number): string => format.format(new Date(seconds * 1_000));
  const seconds = samples.map(({ at }) => Date.parse(at) / 1_000);
  const shown = samples.map((_, index) => index).slice(-SHOWN_IN_TABLE);
  const when = { picture: t("health-chart.when"), table: t("health-chart.when") };
  const table = { title: t("health-chart.table"), shown, moment, head: ({ label }: ChartLine) => `${label}, ${unit}` };
  return <ChartCard {...{ title, unit, when, seconds, lines, moment, table }} />;
}

function inMib(bytes: number | null): number | null {
  return bytes === null ? null : Math.round(bytes / MIB);
}
