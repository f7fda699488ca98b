import { TextInput } from "@mantine/core";
import { PLACE_LEVELS, type PlaceIds, type ScenarioMessage, type ScenarioQuestion } from "../../api/scenario-rows.ts";
import type { MessageFamily } from "../../i18n/message-keys.ts";
import type { Translator } from "../../i18n/translator.ts";
import type { CustomFieldProps, FieldOverrides, FormValues } from "../../ui/form/form-fields.ts";
import { PlaceSelect } from "../places/place-select.tsx";
import { MessagesEditor } from "./messages-editor.tsx";
import { QuestionsEditor } from "./questions-editor.tsx";
import { TileEditor } from "./tile-editor.tsx";

const CONFIRMATIONS = ["none", "prompt", "pin"] as const;
const TYPES = ["standard", "panic-button", "integration"] as const;
const STEPS = ["step1", "step2", "step3", "step4", "step5"] as const;

const isPin = ({ confirmationType }: FormValues) => confirmationType === "pin";
const isPrompt = ({ confirmationType }: FormValues) => confirmationType === "prompt";
const hasPlace = ({ locationEnabled }: FormValues) => locationEnabled === true;

/** Form fields of a scenario. */
export function scenarioFields({ t, name }: Translator): FieldOverrides[] {
  const choices = (family: MessageFamily, values: readonly string[]) =>
    values.map((value) => ({ value, label: name(family, value) }));
  return [
    { name: "name" },
    { name: "description", label: t("scenario.description"), hint: t("scenario.description-hint") },
    { name: "backgroundColor", kind: "own", heading: t("scenario.tile"), draw: (given) => <Tile {...given} /> },
    { name: "emergency", label: t("field.emergency"), hint: t("scenario.emergency-hint") },
    { name: "messages", kind: "own", heading: t("scenario.messages"), draw: (given) => <Messages {...given} /> },
    { name: "fields", kind: "own", heading: t("scenario.questions"), draw: (given) => <Questions {...given} /> },
    { name: "locationEnabled", heading: t("scenario.where"), hint: t("scenario.location-hint") },
    { name: "locationQuestionName", shown: hasPlace, hint: t("scenario.location-question-hint") },
    { name: "locationVariable", shown: hasPlace, hint: t("scenario.location-variable-hint") },
    {
      name: "defaultLocation",
      kind: "own",
      shown: hasPlace,
      draw: ({ values, change }) => (
        <PlaceSelect
          label={t("scenario.default-place")}
          otherwise={t("scenario.no-default")}
          place={(values.defaultLocation ?? {}) as PlaceIds}
          onChange={(place) => change({ defaultLocation: place, ...defaultIds(place) })}
        />
      ),
    },
    {
      name: "confirmationType",
      heading: t("scenario.before"),
      required: true,
      choices: choices("confirmation", CONFIRMATIONS),
    },
    { name: "confirmationPin", shown: isPin, hint: t("scenario.pin-hint") },
    { name: "customConfirm", shown: isPrompt, hint: t("scenario.prompt-hint") },
    {
      name: "incidentPlanId",
      kind: "row",
      from: "incident-plans",
      heading: t("scenario.after"),
      hint: t("scenario.plan-hint"),
    },
    { name: "instructions", kind: "own", draw: (given) => <Steps {...given} label={t("scenario.step")} /> },
    { name: "phoneNumber", hint: t("scenario.phone-hint") },
    { name: "type", heading: t("scenario.further"), choices: choices("scenario-type", TYPES) },
    { name: "isShared" },
  ];
}

/** The default place as the API takes it; levels that are not told are cleared. */
function defaultIds(place: PlaceIds): Record<string, string | null> {
  return Object.fromEntries(
    PLACE_LEVELS.map((level) => [
      `default${level.charAt(0).toUpperCase()}${level.slice(1)}Id`,
      place[level]?.id ?? null,
    ]),
  );
}

function Tile({ values, change }: CustomFieldProps) {
  return (
    <TileEditor
      icon={typeof values.icon === "string" ? values.icon : null}
      colour={String(values.backgroundColor ?? "")}
      name={String(values.name ?? "")}
      onChange={change}
    />
  );
}

function Messages({ values, change, error }: CustomFieldProps) {
  return (
    <MessagesEditor
      messages={(values.messages ?? []) as ScenarioMessage[]}
      variables={variablesOf(values)}
      error={error}
      onChange={(messages) => change({ messages })}
    />
  );
}

function Questions({ values, change, error }: CustomFieldProps) {
  return (
    <QuestionsEditor
      questions={(values.fields ?? []) as ScenarioQuestion[]}
      error={error}
      onChange={(fields) => change({ fields })}
    />
  );
}

/** What may stand in braces in the messages of the scenario that is being edited. */
function variablesOf(values: FormValues): string[] {
  const questions = (values.fields ?? []) as ScenarioQuestion[];
  const asked = questions.filter(({ type, variable }) => type !== "site" && variable !== "");
  const place = values.locationEnabled === true ? [String(values.locationVariable || "location")] : [];
  return [...asked.map(({ variable }) => variable), ...place];
}

function Steps({ values, change, label }: CustomFieldProps & { label: string }) {
  const steps = (values.instructions ?? {}) as Readonly<Record<string, string | null>>;
  const filled = STEPS.filter((step) => steps[step]).length;
  return (
    <div className="stack">
      {STEPS.slice(0, Math.max(1, filled + 1)).map((step, at) => (
        <TextInput
          key={step}
          label={`${label} ${at + 1}`}
          maxLength={255}
          value={steps[step] ?? ""}
          onChange={(event) => change({ instructions: { ...steps, [step]: event.currentTarget.value || null } })}
        />
      ))}
    </div>
  );
}
