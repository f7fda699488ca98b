import { Textarea } from "@mantine/core";
import type { Question, ScenarioRow } from "../../api/scenario-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { ChoiceBar } from "../../ui/segmented-choice.tsx";
import { placeWords } from "../places/place-name.ts";
import { PlaceChoice } from "../places/place-select.tsx";
import { askedOf, type Told } from "./start-draft.ts";

interface ToldFieldsProps {
  scenario: ScenarioRow;
  told: Told;
  onChange(told: Told): void;
}

/** The questions of a scenario, and where it is. */
export function ToldFields({ scenario, told, onChange }: ToldFieldsProps) {
  const { t } = useWords();
  const answer = (id: string, text: string) => onChange({ ...told, answers: { ...told.answers, [id]: text } });
  const usual = placeWords(scenario.defaultLocation);
  return (
    <div className="stack told">
      {askedOf(scenario).map((question) => (
        <Asked
          key={question.id}
          question={question}
          answer={told.answers[question.id ?? ""] ?? ""}
          onAnswer={(text) => answer(question.id ?? "", text)}
        />
      ))}
      {scenario.locationEnabled && (
        <PlaceChoice
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
  question: Question;
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
      <ChoiceBar
        label={name}
        value={answer}
        choices={options.map((value) => ({ value, label: value }))}
        onChange={onAnswer}
      />
    </div>
  );
}
