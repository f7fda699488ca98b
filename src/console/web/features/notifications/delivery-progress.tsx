import type { NotificationRow, ProgressPoint } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ChartCard } from "../../ui/chart-card.tsx";

const LINES = [
  { name: "sent", colour: "--soft", dash: [2, 3] },
  { name: "accepted", colour: "--accent", dash: [6, 3] },
  { name: "playing", colour: "--good", dash: [] },
  { name: "missed", colour: "--bad", dash: [10, 4] },
  { name: "passedOver", colour: "--warn", dash: [4, 2, 1, 2] },
] as const;

interface Grown {
  points: readonly ProgressPoint[];
  expectedSeconds: number | null;
  tookSeconds: number | null;
}

/** How many devices had come how far, second by second; as a picture and as a table. */
export function DeliveryProgress({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const { data } = useRow<Grown>("notifications/{notificationId}/progress", {
    notificationId: row.id,
  });
  const points = data?.points ?? [];
  const start = Date.parse(points[0]?.at ?? row.createdAt);
  const seconds = points.map(({ at }) => (Date.parse(at) - start) / 1_000);
  const lines = LINES.map((line) => ({
    ...line,
    label: t(`progress.${line.name}`),
    values: points.map((point) => point[line.name]),
  }));
  if (points.length === 0) return null;
  const { expectedSeconds: expected = null, tookSeconds: took = null } = data ?? {};
  return (
    <>
      {expected !== null && took !== null && <p className="soft">{t("progress.foreseen", { expected, took })}</p>}
      <ChartCard
        title={t("progress.title")}
        unit={t("progress.devices")}
        when={{ picture: t("progress.when"), table: t("progress.seconds") }}
        table={{
          title: t("progress.table"),
          shown: changesIn(points),
          moment: (at) => at.toFixed(1),
          head: ({ label }) => label,
        }}
        {...{ seconds, lines }}
      />
    </>
  );
}

/** Lines of the table: where a number differs from the one before, and the last. */
function changesIn(points: readonly ProgressPoint[]): number[] {
  const isNews = (index: number): boolean =>
    LINES.some(({ name }) => points[index]?.[name] !== points[index - 1]?.[name]);
  return points.map((_, index) => index).filter((index) => isNews(index) || index === points.length - 1);
}
