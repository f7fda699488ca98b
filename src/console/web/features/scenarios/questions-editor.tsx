import { Button, Switch, Textarea, TextInput } from "@mantine/core";
import type { ScenarioQuestion } from "../../api/scenario-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ItemHeader } from "../../ui/form/item-header.tsx";
import { moveItem } from "../../ui/form/move-item.ts";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { askedQuestions, variableFrom } from "./start-draft.ts";

interface QuestionsProps {
  questions: readonly ScenarioQuestion[];
  error: unknown;
  onChange(questions: readonly ScenarioQuestion[]): void;
}

const LIMIT = 50;

/** The questions of a scenario, in the order in which they are asked. */
export function QuestionsEditor({ questions, error, onChange }: QuestionsProps) {
  const { t } = useTranslation();
  const asked = askedQuestions({ fields: questions });
  const put = (next: readonly ScenarioQuestion[]) => onChange(next.map((question, rank) => ({ ...question, rank })));
  const variables = (without: number) => asked.filter((_, at) => at !== without).map(({ variable }) => variable);
  const change = (at: number, part: Partial<ScenarioQuestion>) =>
    put(asked.map((question, index) => (index === at ? { ...question, ...part } : question)));
  const add = () =>
    put([
      ...asked,
      { name: "", variable: "", type: "option", options: [], required: false } satisfies ScenarioQuestion,
    ]);
  return (
    <div className="stack">
      {asked.length === 0 && <p className="soft">{t("question.none")}</p>}
      {asked.map((question, at) => (
        <fieldset key={question.id ?? at} className="card part">
          <ItemHeader
            title={t("question.number", { number: at + 1 })}
            {...{ at, count: asked.length }}
            onMove={(to) => put(moveItem(asked, at, to))}
            onRemove={() => put(asked.filter((_, index) => index !== at))}
          />
          <QuestionFields
            {...{ question, at, error }}
            onChange={(part) => change(at, part)}
            variableFor={(name) => variableFrom(name, variables(at))}
          />
        </fieldset>
      ))}
      {asked.length < LIMIT && (
        <div>
          <Button variant="default" onClick={add}>
            {t("question.add")}
          </Button>
        </div>
      )}
    </div>
  );
}

interface FieldsProps {
  question: ScenarioQuestion;
  at: number;
  error: unknown;
  onChange(part: Partial<ScenarioQuestion>): void;
  variableFor(name: string): string;
}

function QuestionFields({ question, at, error, onChange, variableFor }: FieldsProps) {
  const translator = useTranslation();
  const { t, name } = translator;
  const fault = (member: string) => fieldErrorText(error, `fields[${at}].${member}`, translator);
  // A question that is stored keeps its name in the messages; a new one is called by its words.
  const follow = (text: string) => (question.id ? {} : { variable: text.trim() === "" ? "" : variableFor(text) });
  return (
    <>
      <TextInput
        label={t("question.text")}
        placeholder={t("question.example")}
        required
        maxLength={255}
        value={question.name}
        error={fault("name")}
        onChange={(event) => onChange({ name: event.currentTarget.value, ...follow(event.currentTarget.value) })}
      />
      <SegmentedChoice<"option" | "text">
        label={t("question.type")}
        value={question.type === "text" ? "text" : "option"}
        choices={(["option", "text"] as const).map((value) => ({ value, label: name("question-type", value) }))}
        onChange={(type) => onChange({ type, ...(type === "text" ? { options: [] } : {}) })}
      />
      {question.type === "option" && (
        <Textarea
          label={t("field.options")}
          description={t("question.options-hint")}
          required
          autosize
          minRows={2}
          value={question.options.join("\n")}
          error={fault("options")}
          onChange={(event) => onChange({ options: event.currentTarget.value.split("\n") })}
          onBlur={() => onChange({ options: question.options.map((each) => each.trim()).filter(Boolean) })}
        />
      )}
      <div className="row end">
        <TextInput
          className="grow"
          label={t("question.variable")}
          description={t("question.variable-hint", { variable: question.variable || "…" })}
          required
          maxLength={32}
          value={question.variable}
          error={fault("variable")}
          onChange={(event) => onChange({ variable: event.currentTarget.value })}
        />
        <Switch
          label={t("question.required")}
          checked={question.required}
          onChange={(event) => onChange({ required: event.currentTarget.checked })}
        />
      </div>
    </>
  );
}
