import { PLACE_LEVELS, type PlaceIds, type ScenarioQuestion, type ScenarioRow } from "../../api/scenario-rows.ts";

/** Answers given before a start. */
export interface StartDraft {
  /** Answers by the question's id. */
  answers: Readonly<Record<string, string>>;
  place: PlaceIds;
  pin: string;
}

/** Draft without answers. */
export const EMPTY_START: StartDraft = { answers: {}, place: {}, pin: "" };

type Asking = Pick<ScenarioRow, "fields" | "locationEnabled" | "defaultSiteId" | "confirmationType">;

/** The questions in order; the location has its own field. */
export function askedQuestions({ fields }: Pick<Asking, "fields">): ScenarioQuestion[] {
  return fields
    .filter(({ type }) => type !== "site")
    .slice()
    .sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
}

/** Names of the questions that must still be answered. */
export function unansweredQuestions(scenario: Asking, { answers }: StartDraft): string[] {
  return askedQuestions(scenario)
    .filter(({ id = "", required }) => required && !answers[id]?.trim())
    .map(({ name }) => name);
}

/** Whether a location must still be chosen. */
export function needsPlace({ locationEnabled, defaultSiteId }: Asking, { place }: StartDraft): boolean {
  return locationEnabled && defaultSiteId === null && place.site === undefined;
}

/** True when a PIN is asked for that is not whole yet. */
export function needsPin({ confirmationType }: Asking, { pin }: StartDraft): boolean {
  return confirmationType === "pin" && !/^\d{4,12}$/.test(pin);
}

/** True when nothing is missing. */
export function canStart(scenario: Asking, told: StartDraft): boolean {
  return unansweredQuestions(scenario, told).length === 0 && !needsPlace(scenario, told) && !needsPin(scenario, told);
}

/** Answers as the API expects them; unanswered ones are left out. */
export function answersOf(scenario: Asking, { answers }: StartDraft): { fieldId: string; answer: string }[] {
  return askedQuestions(scenario).flatMap(({ id = "" }) => {
    const answer = answers[id]?.trim();
    return answer ? [{ fieldId: id, answer }] : [];
  });
}

/** The most specific place level chosen; undefined for none. */
export function locationOf({ place }: StartDraft): Record<string, { id: string }> | undefined {
  const level = PLACE_LEVELS.findLast((each) => place[each]);
  const id = level && place[level]?.id;
  return level && id ? { [level]: { id } } : undefined;
}

/** The body of a start. */
export function startBody(
  scenario: Asking & { id: string },
  told: StartDraft,
  drill: boolean,
): Record<string, unknown> {
  const location = scenario.locationEnabled ? locationOf(told) : undefined;
  return {
    scenarioId: scenario.id,
    drill,
    fields: answersOf(scenario, told),
    ...(location ? { location } : {}),
    ...(scenario.confirmationType === "pin" ? { confirmationPin: told.pin } : {}),
  };
}

/** Variable name derived from the text of a question, for placeholders in messages. */
export function variableFrom(name: string, taken: readonly string[]): string {
  const bare = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/ß/g, "ss")
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "");
  const base = (bare.length < 3 ? `answer${bare && `_${bare}`}` : bare).slice(0, 28).replace(/_+$/, "");
  const used = new Set(taken.map((each) => each.toLowerCase()));
  for (let n = 2, next = base; ; next = `${base}_${n++}`) if (!used.has(next)) return next;
}
