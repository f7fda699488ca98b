import type { Clock } from "../base/clock.ts";
import { type Counted, reachOf } from "../broadcast/impact.ts";
import { interpolate } from "../broadcast/interpolation.ts";
import { type NamedPlace, namePlace, placeInWords } from "../places/place-names.ts";
import type { By, Store } from "../store/store.ts";
import { readAnswers, variablesOf } from "./answers.ts";
import { locationVariableOf, type ScenarioRow } from "./questions.ts";
import { placeOfStart } from "./scenario-place.ts";
import { type PlannedMessage, planMessages } from "./scenario-plan.ts";

/** What a start would say. */
export interface SimulatedStart {
  /** `[{fieldId | fieldVariable, answer}]`, or an object of answers by variable. */
  answers: unknown;
  location: unknown;
}

/** Who and what a scenario would reach, and with which words. */
export interface ScenarioPreview {
  location: NamedPlace | null;
  locationText: string;
  messages: PreviewedMessage[];
}

interface PreviewedMessage {
  messageId: string;
  name: string;
  subject: string | null;
  body: string | null;
  ttsCustomContent: string | null;
  users: Counted<{ id: string; name: string }>;
  devices: Counted<{ id: string; name: string }>;
}

/** Foresees a start; questions that are left open keep their places in the texts. Throws CallerError. */
export async function previewScenario(
  scenario: ScenarioRow,
  { answers, location }: SimulatedStart,
  by: By,
  { store, clock, reportsSite }: { store: Store; clock: Clock; reportsSite: boolean },
): Promise<ScenarioPreview> {
  const { answered, site } = readAnswers(scenario, listOf(answers), { reportsSite, isPartial: true });
  const told = { location, site, device: null, mayBeNowhere: true };
  const place = placeOfStart(scenario, told, store, by.scope.inSight);
  const named = namePlace(place, store);
  const words = placeInWords(named);
  const variables = new Map(Object.entries(variablesOf(answered, true)));
  if (named) variables.set(locationVariableOf(scenario), words);
  const messages: PreviewedMessage[] = [];
  for (const planned of planMessages(scenario, place, new Map(), store)) {
    const reached = await reachOf(planned.recipients, { reader: store, clock, scope: by.scope });
    messages.push({ ...textsOf(planned, variables), ...reached });
  }
  return { location: named, locationText: words, messages };
}

function textsOf({ message, template }: PlannedMessage, variables: ReadonlyMap<string, string>) {
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

function listOf(answers: unknown): unknown {
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) return answers;
  return Object.entries(answers).map(([fieldVariable, answer]) => ({ fieldVariable, answer }));
}
