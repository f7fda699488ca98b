import { useNavigate } from "@tanstack/react-router";
import type { ScenarioRow, StartedScenarioRow } from "../../api/scenario-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { useSend } from "../notifications/use-send.ts";
import { canStart, EMPTY_START, startBody } from "../scenarios/start-draft.ts";
import { ReachNote } from "./reach-note.tsx";

interface ScenarioTilesProps {
  rows: readonly ScenarioRow[];
  drill: boolean;
  onClose(): void;
}

/** Scenarios that are marked for emergencies: one that asks nothing is started by holding it. */
export function ScenarioTiles({ rows, drill, onClose }: ScenarioTilesProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const sending = useSend<StartedScenarioRow>();
  const look = drill ? "emergency-tile drill" : "emergency-tile";
  const ask = ({ id }: ScenarioRow) => {
    onClose();
    const search = drill ? { drill: "true" } : {};
    void navigate({ to: "/scenarios/$scenarioId/start", params: { scenarioId: id }, search });
  };
  const start = (row: ScenarioRow) =>
    sending.send(
      startBody(row, EMPTY_START, drill),
      ({ events }) => {
        onClose();
        const notificationId = events[0]?.notificationId ?? "";
        void navigate({ to: "/broadcasts/$notificationId", params: { notificationId } });
      },
      "scenario-notifications",
    );
  return (
    <>
      <ErrorLine error={sending.error} />
      {rows.map((row) =>
        canStart(row, EMPTY_START) ? (
          <HoldButton key={row.id} className={look} disabled={sending.isPending} onHeld={() => start(row)}>
            <strong>{row.name}</strong>
            <span>{row.customConfirm ?? row.description}</span>
            <ReachNote id={row.id} />
          </HoldButton>
        ) : (
          <button key={row.id} type="button" className={`hold ${look}`} onClick={() => ask(row)}>
            <span className="hold-words">
              <strong>{row.name}</strong>
              <span>{row.description}</span>
              <small>{t("emergency.asks")}</small>
              <ReachNote id={row.id} />
            </span>
          </button>
        ),
      )}
    </>
  );
}
