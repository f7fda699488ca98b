import type { StartLatency } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import "../devices/device-states.css";

/** How long each model takes to begin, and what is done about it; nothing where no device has said so. */
export function StartLatencyTable() {
  const { t, language } = useTranslation();
  const models = useRow<{ models: readonly StartLatency[] }>("start-delays").data?.models ?? [];
  if (models.length === 0) return null;
  const ms = (value: number): string => `${value.toLocaleString(language, { maximumFractionDigits: 1 })} ms`;
  return (
    <details className="card">
      <summary>{t("delays.title", { n: models.length })}</summary>
      <p className="soft">{t("delays.words")}</p>
      <table className="delays-table">
        <thead>
          <tr>
            <th scope="col">{t("delays.model")}</th>
            <th scope="col">{t("delays.median")}</th>
            <th scope="col">{t("delays.spread")}</th>
            <th scope="col">{t("delays.hold")}</th>
            <th scope="col">{t("delays.reports")}</th>
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
