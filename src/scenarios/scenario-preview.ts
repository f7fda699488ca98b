import type { Clock } from "../lib/clock.ts";
import { interpolate } from "../lib/interpolation.ts";
import { type CountWithSample, measureReach } from "../notifications/recipients/change-impact.ts";
import { formatLocation, type NamedLocation, nameLocation } from "../places/location-names.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { answerVariables, parseAnswers } from "./scenario-answers.ts";
import { resolveStartLocation } from "./scenario-location.ts";
import { type PlannedScenarioMessage, planScenarioMessages } from "./scenario-plan.ts";
import { locationVariableOf, type ScenarioRow } from "./scenario-questions.ts";

/** A start to preview. */
export interface SimulatedStart {
  /** `[{fieldId | fieldVariable, answer}]`, or an object of answers by variable. */
  answers: unknown;
  location: unknown;
}

/** Recipients and texts of a start. */
export interface ScenarioPreview {
  location: NamedLocation | null;
  locationText: string;
  messages: PreviewedMessage[];
}

interface PreviewedMessage {
  messageId: string;
  name: string;
  subject: string | null;
  body: string | null;
  ttsCustomContent: string | null;
  users: CountWithSample<{ id: string; name: string }>;
  devices: CountWithSample<{ id: string; name: string }>;
}

/** Previews a start (dry run); open questions keep their placeholders. Throws CallerError. */
export async function previewScenario(
  scenario: ScenarioRow,
  { answers, location }: SimulatedStart,
  by: ActorContext,
  { store, clock, reportsSite }: { store: Store; clock: Clock; reportsSite: boolean },
): Promise<ScenarioPreview> {
  const { answered, site } = parseAnswers(scenario, toAnswerList(answers), { reportsSite, isPartial: true });
  const startInput = { location, site, device: null, strategy: [], mayBeNowhere: true };
  const place = resolveStartLocation(scenario, startInput, store, by.scope.domainVisibility);
  const named = nameLocation(place, store);
  const locationText = formatLocation(named);
  const variables = new Map(Object.entries(answerVariables(answered, true)));
  if (named) variables.set(locationVariableOf(scenario), locationText);
  const messages: PreviewedMessage[] = [];
  for (const planned of planScenarioMessages(scenario, place, new Map(), store)) {
    const reached = await measureReach(planned.recipients, { reader: store, clock, scope: by.scope });
    messages.push({ ...previewTexts(planned, variables), ...reached });
  }
  return { location: named, locationText, messages };
}

function previewTexts({ message, template }: PlannedScenarioMessage, variables: ReadonlyMap<string, string>) {
  const filled = (field: "subject" | "body" | "ttsCustomContent"): string | null => {
    const text = message[field] ?? template[field];
    return text === null ? null : interpolate(text, variables);
  };
  return {
    messageId: message.id,
    name: message.name,
    subject: filled("subject"),
    body: filled("body"),
    ttsCustomContent: filled("ttsCustomContent"),
  };
}

function toAnswerList(answers: unknown): unknown {
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) return answers;
  return Object.entries(answers).map(([fieldVariable, answer]) => ({ fieldVariable, answer }));
}
