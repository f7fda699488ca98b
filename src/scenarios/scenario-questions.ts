import { type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { SCENARIO_QUESTION_FIELDS, VARIABLE_PATTERN } from "../resources/scenarios/scenario-fields.ts";
import type scenarios from "../resources/scenarios/scenarios.ts";
import { parseNestedItems } from "../schema/nested-items.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";

export type ScenarioRow = RowOf<typeof scenarios>;

/** A stored question; questions are sorted by rank. */
export interface ScenarioQuestion {
  id: string;
  name: string;
  variable: string;
  type: "option" | "text";
  options: string[];
  rank: number;
  required: boolean;
}

/** The site question, which older clients answer instead of sending a location. @source docs/decisions/0007-scenarios.md, Synthetic site question */
export interface SiteQuestion extends Omit<ScenarioQuestion, "type"> {
  type: "site";
}

/** The same id in every scenario. @source docs/decisions/0007-scenarios.md, Synthetic site question */
export const SITE_QUESTION_ID = "55ca36de-4b3c-11ed-aeff-17a043a08a03";

/** @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
const MAX_QUESTIONS = 50;
const FIELD = "fields";
const checker = compileValidator(SCENARIO_QUESTION_FIELDS);

/**
 * Parses the questions of a scenario, sorted by rank. The site question, which is reported with them, is removed if it
 * `isReported`; any other question about a site is rejected. Throws CallerError.
 */
export function parseQuestions(input: unknown, isReported: boolean): ScenarioQuestion[] {
  const given = Array.isArray(input) && isReported ? input.filter((each) => !isSiteQuestion(each)) : input;
  const read = parseNestedItems<ScenarioQuestion>(given, { field: FIELD, most: MAX_QUESTIONS, checker });
  const errors = read.flatMap((question, at) => validateQuestion(question, read.slice(0, at)).map(toFieldError(at)));
  if (errors.length > 0) throw validationError(errors);
  return read.map((question, at) => ({ ...question, rank: question.rank ?? at })).sort((a, b) => a.rank - b.rank);
}

function isSiteQuestion(element: unknown): boolean {
  const id = typeof element === "object" && element !== null ? (element as { id?: unknown }).id : null;
  return typeof id === "string" && id.toLowerCase() === SITE_QUESTION_ID;
}

function toFieldError(at: number): (error: [member: string, detail: string]) => FieldError {
  return ([member, detail]) => {
    const field = `${FIELD}[${at}].${member}`;
    return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
  };
}

function validateQuestion(
  { id, variable, type, options }: ScenarioQuestion,
  before: readonly ScenarioQuestion[],
): [string, string][] {
  const errors: [string, string][] = [];
  if (id === SITE_QUESTION_ID) errors.push(["id", sentence("field.must-not-be-the-id-of-the-site-question")]);
  if (!VARIABLE_PATTERN.test(variable)) errors.push(["variable", VARIABLE_SYNTAX_MESSAGE]);
  if (before.some((other) => isSameName(other.variable, variable)))
    errors.push(["variable", sentence("field.must-be-unique-within-the-scenario")]);
  if (type === "option" && options.length === 0) errors.push(["options", sentence("field.must-have-at-least-1-item")]);
  if (type === "text" && options.length > 0)
    errors.push(["options", sentence("field.must-be-empty-for-a-text-question")]);
  if (new Set(options.map((each) => each.toLowerCase())).size < options.length) {
    errors.push(["options", sentence("field.must-not-contain-duplicates")]);
  }
  return errors;
}

const VARIABLE_SYNTAX_MESSAGE = sentence("field.must-be-a-letter-followed-by-2-to-31-letters");

function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

export function storedQuestionsOf({ fields }: Pick<ScenarioRow, "fields">): ScenarioQuestion[] {
  return (fields ?? []) as ScenarioQuestion[];
}

/** The variable that contains the location text. */
export function locationVariableOf({ locationVariable }: Pick<ScenarioRow, "locationVariable">): string {
  return locationVariable ?? "location";
}

/** Throws CallerError if the location variable is invalid or is that of a question. */
export function assertLocationVariable(row: ScenarioRow): void {
  const variable = locationVariableOf(row);
  const isTaken =
    row.locationEnabled && storedQuestionsOf(row).some((question) => isSameName(question.variable, variable));
  const detail = !VARIABLE_PATTERN.test(variable)
    ? VARIABLE_SYNTAX_MESSAGE
    : isTaken
      ? sentence("field.must-not-be-the-variable-of-a-question")
      : null;
  if (detail === null) return;
  const field = "locationVariable";
  throw validationError([{ field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` }]);
}

/** Site question of a scenario with a location: always the last question. */
export function createSiteQuestion(row: ScenarioRow): SiteQuestion {
  return {
    id: SITE_QUESTION_ID,
    name: row.locationQuestionName ?? "Location",
    variable: locationVariableOf(row),
    type: "site",
    options: [],
    rank: Math.max(-1, ...storedQuestionsOf(row).map(({ rank }) => rank)) + 1,
    required: row.defaultSiteId === null,
  };
}
