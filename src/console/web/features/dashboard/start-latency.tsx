import type { StartLatency } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import "../devices/device-states.css";

/** Start latency per device model, and the offsets applied; nothing without reports. */
export function StartLatencyTable() {
  const { t, language } = useTranslation();
  const models = useRow<{ models: readonly StartLatency[] }>("start-delays").data?.models ?? [];
  if (models.length === 0) return null;
  const ms = (value: number): string => `${value.toLocaleString(language, { maximumFractionDigits: 1 })} ms`;
  return (
    <details className="card">
      <summary>{t("start-latency.title", { count: models.length })}</summary>
      <p className="soft">{t("start-latency.intro")}</p>
      <table className="delays-table">
        <thead>
          <tr>
            <th scope="col">{t("start-latency.model")}</th>
            <th scope="col">{t("start-latency.median")}</th>
            <th scope="col">{t("start-latency.spread")}</th>
            <th scope="col">{t("start-latency.hold")}</th>
            <th scope="col">{t("start-latency.reports")}</th>
          </tr>
        </thead>
        <tbody>
          {models.map(({ model, medianMs, spreadMs, holdMs, reports }) => (
            <tr key={model}>
              <th scope="row">{model}</th>
              <td>{ms(medianMs)}</td>
              <td>{ms(spreadMs)}</td>
              <td>{ms(holdMs)}</td>
              <td>{reports}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
