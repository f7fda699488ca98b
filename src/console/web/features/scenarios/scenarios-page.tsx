import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ScenarioRow } from "../../api/scenario-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { EMPTY_SCENARIO_MESSAGE } from "./messages-editor.tsx";
import { RuleActions } from "./rule-actions.tsx";
import { scenarioFields } from "./scenario-fields.tsx";
import { EMPTY_START, type StartDraft } from "./start-draft.ts";
import { StartFields } from "./start-fields.tsx";
import { StartPreview } from "./start-preview.tsx";
import { DEFAULT_TILE_COLOUR } from "./tile-editor.tsx";
import { TileIcon } from "./tile-face.tsx";
import "./scenarios.css";

/** Prepared scenarios. */
export default function ScenariosPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<ScenarioRow>
      tabs="send"
      title={t("scenarios.title")}
      add={<Actions />}
      none={t("scenarios.none")}
      route="scenarios"
      columns={[
        {
          id: "tile",
          head: t("scenario.tile"),
          width: "4rem",
          side: true,
          cell: (row) => <TileIcon scenario={row} size={20} />,
        },
        {
          id: "marks",
          head: t("field.type"),
          width: "1.5fr",
          cell: (row) => (
            <span className="row">
              {row.emergency && <Chip tone="warn">{t("emergency")}</Chip>}
              {name("scenario-type", row.type)}
            </span>
          ),
        },
        {
          id: "confirmation",
          head: t("field.confirmationType"),
          width: "1fr",
          cell: (row) => name("confirmation", row.confirmationType),
        },
        {
          id: "start",
          head: t("scenario.start"),
          width: "6rem",
          cell: (row) => (
            <Link to="/scenarios/$scenarioId/start" params={{ scenarioId: row.id }}>
              {t("scenario.start")}
            </Link>
          ),
        },
      ]}
      sheet={(id, onClose) => <ScenarioSheet key={id} id={id} onClose={onClose} />}
    />
  );
}

function Actions() {
  const { t } = useTranslation();
  const [, show] = useTableSearch();
  return (
    <div className="row">
      <Button variant="default" component={Link} to="/launch">
        {t("launch.open")}
      </Button>
      <Button onClick={() => show({ open: NEW })}>{t("scenarios.add")}</Button>
    </div>
  );
}

const FRESH = {
  type: "standard",
  backgroundColor: DEFAULT_TILE_COLOUR,
  confirmationType: "none",
  messages: [EMPTY_SCENARIO_MESSAGE],
};

function ScenarioSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const translator = useTranslation();
  const { t } = translator;
  return (
    <RowSheet
      id={id}
      item="scenarios/{scenarioId}"
      newTitle={t("scenarios.add")}
      onClose={onClose}
      wide
      initial={FRESH}
      fields={scenarioFields(translator)}
      tabs={[
        { id: "try", label: t("scenario.try"), content: <PreviewTab scenarioId={id} /> },
        { id: "calls", label: t("rule-action.title"), content: <RuleActions scenarioId={id} /> },
      ]}
    >
      <SheetActions scenarioId={id} />
    </RowSheet>
  );
}

function SheetActions({ scenarioId }: { scenarioId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [, show] = useTableSearch();
  const clone = useRowMutation<void, void>("scenarios", async () => {
    const { id, name } = await client.post<ScenarioRow>("scenarios/{scenarioId}/clone", { scenarioId }, {});
    notify(t("scenario.cloned", { name }));
    show({ open: id });
  });
  return (
    <div className="row">
      <Link to="/scenarios/$scenarioId/start" params={{ scenarioId }}>
        {t("scenario.start")}
      </Link>
      <Button variant="default" size="compact-md" loading={clone.isPending} onClick={() => clone.mutate()}>
        {t("scenario.clone")}
      </Button>
      <ErrorLine error={clone.error} />
    </div>
  );
}

/** The scenario with answers that are made up: what would be sent to whom. Nothing is. */
function PreviewTab({ scenarioId }: { scenarioId: string }) {
  const { t } = useTranslation();
  const [told, setTold] = useState<StartDraft>(EMPTY_START);
  const { data: scenario, error } = useRow<ScenarioRow>("scenarios/{scenarioId}", { scenarioId });
  if (!scenario) return <ErrorLine error={error} />;
  return (
    <div className="stack">
      <p className="soft">{t("scenario.try-text")}</p>
      <StartFields scenario={scenario} told={told} onChange={setTold} />
      <StartPreview scenario={scenario} told={told} />
    </div>
  );
}
