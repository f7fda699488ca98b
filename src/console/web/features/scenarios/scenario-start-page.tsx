import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { ScenarioRow, StartedScenarioRow } from "../../api/scenario-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { PageTitle } from "../../ui/page-title.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { UnavailablePage } from "../../ui/unavailable-page.tsx";
import { EMPTY_START, type StartDraft } from "./start-draft.ts";
import { StartPanel } from "./start-panel.tsx";
import { StartPreview } from "./start-preview.tsx";
import { StartedPanel } from "./started-panel.tsx";

/** Starts a scenario, and shows what became of it. */
export default function ScenarioStartPage() {
  const { t } = useTranslation();
  const { scenarioId = "" } = useParams({ strict: false });
  const { data: scenario, error } = useRow<ScenarioRow>("scenarios/{scenarioId}", { scenarioId });
  const [drill, setDrill] = useState(useTableSearch()[0].drill === "true");
  const [told, setTold] = useState<StartDraft>(EMPTY_START);
  const [started, setStarted] = useState<StartedScenarioRow | null>(null);
  if (!scenario) {
    return (
      <UnavailablePage title={t("scenarios.title")} error={error}>
        <SectionTabs of="send" />
      </UnavailablePage>
    );
  }
  return (
    <div className={drill ? "page in-drill" : "page"}>
      <SectionTabs of="send" />
      <div className="head">
        <PageTitle>
          {t("start.title", { name: scenario.name })} <DrillChip drill={drill} />
        </PageTitle>
        <span className="space" />
        <Link to="/scenarios">{t("start.back")}</Link>
      </div>
      {started ? (
        <StartedPanel scenario={scenario} started={started} />
      ) : (
        <>
          <ModeBar drill={drill} onChange={setDrill} />
          <div className="split">
            <StartPanel {...{ scenario, drill, told }} onTold={setTold} onStarted={setStarted} />
            <div className="stack">
              <h2>{t("preview.title")}</h2>
              <StartPreview scenario={scenario} told={told} />
            </div>
          </div>
        </>
      )}
    </div>
  );
}
