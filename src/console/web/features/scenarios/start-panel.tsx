import { Button } from "@mantine/core";
import type { ScenarioRow, StartedScenarioRow } from "../../api/scenario-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { useSend } from "../notifications/use-send.ts";
import { PinPad } from "./pin-pad.tsx";
import { canStart, needsPin, needsPlace, type StartDraft, startBody, unansweredQuestions } from "./start-draft.ts";
import { StartFields } from "./start-fields.tsx";
import { StartPreviewSummary } from "./start-preview.tsx";
import { TileFace } from "./tile-face.tsx";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";
import "./scenarios.css";

interface StartPanelProps {
  scenario: ScenarioRow;
  drill: boolean;
  told: StartDraft;
  onTold(told: StartDraft): void;
  onStarted(row: StartedScenarioRow): void;
}

/** Everything that a start asks for, on one screen, down to the button that starts it. */
export function StartPanel({ scenario, drill, told, onTold, onStarted }: StartPanelProps) {
  const { t } = useTranslation();
  const sending = useSend<StartedScenarioRow>(scenario.id);
  const start = () =>
    sending.send(startBody(scenario, told, drill), onStarted, "scenario-notifications", {}, () =>
      onTold({ ...told, pin: "" }),
    );
  return (
    <section className={drill ? "card start drill-edge" : "card start live-edge"} aria-label={scenario.name}>
      <div className="start-part">
        <TileFace scenario={scenario} size={44} />
        <StartFields scenario={scenario} told={told} onChange={onTold} />
      </div>
      <div className="start-part">
        {scenario.confirmationType === "pin" && <PinPad pin={told.pin} onChange={(pin) => onTold({ ...told, pin })} />}
        {scenario.confirmationType === "prompt" && (
          <p className="start-question">{scenario.customConfirm ?? t("start.question")}</p>
        )}
        <StartPreviewSummary scenario={scenario} told={told} />
        <Missing scenario={scenario} told={told} />
        <ErrorLine error={sending.error} />
        <StartButton
          {...{ drill, onStart: start }}
          label={scenario.confirmationType === "prompt" ? t("start.yes") : ""}
          ready={canStart(scenario, told)}
          pending={sending.isPending}
        />
      </div>
    </section>
  );
}

function Missing({ scenario, told }: { scenario: ScenarioRow; told: StartDraft }) {
  const { t } = useTranslation();
  const open = [
    ...unansweredQuestions(scenario, told),
    ...(needsPlace(scenario, told) ? [scenario.locationQuestionName ?? t("scenario.where")] : []),
    ...(needsPin(scenario, told) ? [t("start.pin")] : []),
  ];
  return open.length === 0 ? null : <p className="soft">{t("start.missing", { names: open.join(", ") })}</p>;
}

interface StartButtonProps {
  drill: boolean;
  label: string;
  ready: boolean;
  pending: boolean;
  onStart(): void;
}

/** A live start is held, since a slip must start nothing; a drill is one press. */
function StartButton({ drill, label, ready, pending, onStart }: StartButtonProps) {
  const { t } = useTranslation();
  const words = [label, drill ? t("start.drill") : t("start.live")].filter(Boolean).join(" ");
  if (!drill) {
    return (
      <HoldButton className="start-live" disabled={!ready || pending} onHeld={onStart}>
        <strong>{words}</strong>
      </HoldButton>
    );
  }
  return (
    <Button size="xl" color="yellow" className="drill" disabled={!ready} loading={pending} onClick={onStart}>
      {words}
    </Button>
  );
}
