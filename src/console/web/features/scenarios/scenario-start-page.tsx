import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { ScenarioRow, StartedRow } from "../../api/scenario-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { Tabs } from "../../ui/section-tabs.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { UnreadPage } from "../../ui/unavailable-page.tsx";
import { NOTHING_TOLD, type Told } from "./start-draft.ts";
import { StartPanel } from "./start-panel.tsx";
import { Foreseen } from "./start-preview.tsx";
import { StartedPanel } from "./started-panel.tsx";

/** Starts a scenario, and shows what became of it. */
export default function ScenarioStartPage() {
  const { t } = useWords();
  const { scenarioId = "" } = useParams({ strict: false });
  const { data: scenario, error } = useRow<ScenarioRow>("scenarios/{scenarioId}", { scenarioId });
  const [drill, setDrill] = useState(useTableSearch()[0].drill === "true");
  const [told, setTold] = useState<Told>(NOTHING_TOLD);
  const [started, setStarted] = useState<StartedRow | null>(null);
  if (!scenario) {
    return (
      <UnreadPage title={t("scenarios.title")} error={error}>
        <Tabs of="send" />
      </UnreadPage>
    );
  }
  return (
    <div className={drill ? "page in-drill" : "page"}>
      <Tabs of="send" />
      <div className="head">
        <h1>
          {t("start.title", { name: scenario.name })} <DrillChip drill={drill} />
        </h1>
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
              <h2>{t("foreseen.title")}</h2>
              <Foreseen scenario={scenario} told={told} />
            </div>
          </div>
        </>
      )}
    </div>
  );
}
