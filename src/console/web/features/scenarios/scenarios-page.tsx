import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ScenarioRow } from "../../api/scenario-rows.ts";
import { useChange, useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { EMPTY_MESSAGE } from "./messages-editor.tsx";
import { RuleActions } from "./rule-actions.tsx";
import { scenarioFields } from "./scenario-fields.tsx";
import { NOTHING_TOLD, type Told } from "./start-draft.ts";
import { ToldFields } from "./start-fields.tsx";
import { Foreseen } from "./start-preview.tsx";
import { FIRST_COLOUR } from "./tile-editor.tsx";
import { TileMark } from "./tile-face.tsx";
import "./scenarios.css";

/** Situations made ready. */
export default function ScenariosPage() {
  const { t, name } = useWords();
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
          cell: (row) => <TileMark scenario={row} size={20} />,
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
  const { t } = useWords();
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

const FRESH = { type: "standard", backgroundColor: FIRST_COLOUR, confirmationType: "none", messages: [EMPTY_MESSAGE] };

function ScenarioSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const words = useWords();
  const { t } = words;
  return (
    <RowSheet
      id={id}
      item="scenarios/{scenarioId}"
      newTitle={t("scenarios.add")}
      onClose={onClose}
      wide
      initial={FRESH}
      fields={scenarioFields(words)}
      tabs={[
        { id: "try", label: t("scenario.try"), content: <TryOut scenarioId={id} /> },
        { id: "calls", label: t("rule-action.title"), content: <RuleActions scenarioId={id} /> },
      ]}
    >
      <SheetActions scenarioId={id} />
    </RowSheet>
  );
}

function SheetActions({ scenarioId }: { scenarioId: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const [, show] = useTableSearch();
  const clone = useChange<void, void>("scenarios", async () => {
    const { id, name } = await client.post<ScenarioRow>("scenarios/{scenarioId}/clone", { scenarioId }, {});
    say(t("scenario.cloned", { name }));
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
      <FaultLine error={clone.error} />
    </div>
  );
}

/** The scenario with answers that are made up: what would be sent to whom. Nothing is. */
function TryOut({ scenarioId }: { scenarioId: string }) {
  const { t } = useWords();
  const [told, setTold] = useState<Told>(NOTHING_TOLD);
  const { data: scenario, error } = useRow<ScenarioRow>("scenarios/{scenarioId}", { scenarioId });
  if (!scenario) return <FaultLine error={error} />;
  return (
    <div className="stack">
      <p className="soft">{t("scenario.try-words")}</p>
      <ToldFields scenario={scenario} told={told} onChange={setTold} />
      <Foreseen scenario={scenario} told={told} />
    </div>
  );
}
