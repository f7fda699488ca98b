import { Textarea } from "@mantine/core";
import type { ScenarioQuestion, ScenarioRow } from "../../api/scenario-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { placeName } from "../places/place-name.ts";
import { PlaceSelect } from "../places/place-select.tsx";
import { askedQuestions, type StartDraft } from "./start-draft.ts";

interface StartFieldsProps {
  scenario: ScenarioRow;
  told: StartDraft;
  onChange(told: StartDraft): void;
}

/** The questions of a scenario, and where it is. */
export function StartFields({ scenario, told, onChange }: StartFieldsProps) {
  const { t } = useTranslation();
  const answer = (id: string, text: string) => onChange({ ...told, answers: { ...told.answers, [id]: text } });
  const usual = placeName(scenario.defaultLocation);
  return (
    <div className="stack told">
      {askedQuestions(scenario).map((question) => (
        <Asked
          key={question.id}
          question={question}
          answer={told.answers[question.id ?? ""] ?? ""}
          onAnswer={(text) => answer(question.id ?? "", text)}
        />
      ))}
      {scenario.locationEnabled && (
        <PlaceSelect
          label={scenario.locationQuestionName ?? t("scenario.where")}
          otherwise={usual === "" ? t("scenario.choose-place") : t("scenario.usual-place", { place: usual })}
          required={scenario.defaultSiteId === null}
          place={told.place}
          onChange={(place) => onChange({ ...told, place })}
        />
      )}
    </div>
  );
}

interface AskedProps {
  question: ScenarioQuestion;
  answer: string;
  onAnswer(text: string): void;
}

function Asked({ question, answer, onAnswer }: AskedProps) {
  const { name, required, type, options } = question;
  if (type === "text") {
    return (
      <Textarea
        label={name}
        withAsterisk={required}
        autosize
        size="md"
        maxLength={1_000}
        value={answer}
        onChange={(event) => onAnswer(event.currentTarget.value)}
      />
    );
  }
  return (
    <div className="stack tight">
      <span className="asked" aria-hidden="true">
        {name}
        {required && " *"}
      </span>
      <SegmentedChoice
        label={name}
        value={answer}
        choices={options.map((value) => ({ value, label: value }))}
        onChange={onAnswer}
      />
    </div>
  );
}
