import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ScenarioRow, StartedScenarioRow } from "../../api/scenario-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useNow } from "../../console-context.tsx";
import { ActiveNotificationStrips } from "../../frame/active-notification-strips.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { PageStatus } from "../../ui/page-status.tsx";
import { NEW } from "../../ui/row-sheet.tsx";
import { launchOrder } from "./launch-order.ts";
import { LaunchTile } from "./launch-tile.tsx";
import { EMPTY_START, type StartDraft } from "./start-draft.ts";
import { StartPanel } from "./start-panel.tsx";
import { StartedPanel } from "./started-panel.tsx";
import { useIdle } from "./use-idle.ts";
import "./launch.css";

/** Without input for this long, the tablet shows its tiles again, in live mode. */
const IDLE_MS = 120_000;
/** A started scenario stays longer: someone may follow its steps. */
const STARTED_IDLE_MS = 600_000;
const MAX_TILES = 200;

/** Wall tablet: choose a tile, answer its questions, start it. */
export default function LaunchPage() {
  const { t } = useTranslation();
  const [{ open }, show] = useTableSearch();
  const [drill, setDrill] = useState(false);
  const [told, setTold] = useState<StartDraft>(EMPTY_START);
  const [started, setStarted] = useState<StartedScenarioRow | null>(null);
  const list = useRows<ScenarioRow>("scenarios", {}, { limit: MAX_TILES, sort: "name" });
  const tiles = launchOrder(list.data?.data ?? []);
  const chosen = tiles.find(({ id }) => id === open);
  const back = () => {
    setTold(EMPTY_START);
    setStarted(null);
    show({ open: undefined });
  };
  useIdle(started ? STARTED_IDLE_MS : IDLE_MS, () => {
    setDrill(false);
    back();
  });
  return (
    <div className={drill ? "launch in-drill" : "launch"}>
      <LaunchHead drill={drill} back={chosen ? back : null} />
      <ActiveNotificationStrips />
      <main id="main" className="launch-main">
        <PageStatus />
        <ErrorLine error={list.error} />
        {!chosen && <ModeBar drill={drill} onChange={setDrill} />}
        {!chosen && list.data && tiles.length === 0 && (
          <div className="stack">
            <p>{t("launch.none")}</p>
            <div>
              <Button renderRoot={(props) => <Link to="/scenarios" search={{ open: NEW }} {...props} />}>
                {t("scenarios.add")}
              </Button>
            </div>
          </div>
        )}
        {!chosen && (
          <section className="launch-tiles" aria-label={t("launch.tiles")}>
            {tiles.map((scenario) => (
              <LaunchTile key={scenario.id} {...{ scenario, drill }} onOpen={() => show({ open: scenario.id })} />
            ))}
          </section>
        )}
        {chosen && !started && (
          <StartPanel scenario={chosen} {...{ drill, told }} onTold={setTold} onStarted={setStarted} />
        )}
        {chosen && started && (
          <StartedPanel scenario={chosen} started={started} alone>
            <Button size="xl" variant="default" onClick={back}>
              {t("launch.back")}
            </Button>
          </StartedPanel>
        )}
      </main>
    </div>
  );
}

/** Where one is, in which mode, and the way back: to the tiles, or from them out of the page. */
function LaunchHead({ drill, back }: { drill: boolean; back: (() => void) | null }) {
  const { t, language } = useTranslation();
  const time = new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(useNow());
  return (
    <header className="launch-head">
      {back && (
        <Button size="xl" variant="white" color="dark" onClick={back}>
          {`← ${t("launch.back")}`}
        </Button>
      )}
      <h1>{t("launch.title")}</h1>
      <strong className="launch-mode">{t(drill ? "drill.word" : "live.word")}</strong>
      <span className="launch-clock">{time}</span>
      {!back && <Link to="/scenarios">{t("launch.leave")}</Link>}
    </header>
  );
}
