import { type FieldError, validationError } from "../lib/errors.ts";
import { SCENARIO_QUESTION_FIELDS, VARIABLE_PATTERN } from "../resources/scenarios/scenario-fields.ts";
import type scenarios from "../resources/scenarios/scenarios.ts";
import { parseNestedItems } from "../schema/nested-items.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";

/** A scenario as it is stored. */
export type ScenarioRow = RowOf<typeof scenarios>;

/** A question as it is stored, in the order of ranks. */
export interface ScenarioQuestion {
  id: string;
  name: string;
  variable: string;
  type: "option" | "text";
  options: string[];
  rank: number;
  required: boolean;
}

/** The question about the site that older clients answer instead of telling a location. @source service-api.md, Versioning 4 */
export interface SiteQuestion extends Omit<ScenarioQuestion, "type"> {
  type: "site";
}

/** Its id, the same in every scenario. @source service-api.md, Versioning 4 */
export const SITE_QUESTION_ID = "55ca36de-4b3c-11ed-aeff-17a043a08a03";

/** own choice */
const MAX_QUESTIONS = 50;
const FIELD = "fields";
const checker = compileValidator(SCENARIO_QUESTION_FIELDS);

/**
 * Reads the questions of a scenario, sorted by rank. The question about the site, which is reported with them, is left
 * out where it `isReported`; any other question for a site is refused. Throws CallerError.
 */
export function parseQuestions(input: unknown, isReported: boolean): ScenarioQuestion[] {
  const given = Array.isArray(input) && isReported ? input.filter((each) => !isSiteQuestion(each)) : input;
  const read = parseNestedItems<ScenarioQuestion>(given, { field: FIELD, most: MAX_QUESTIONS, checker });
  const faults = read.flatMap((question, at) => validateQuestion(question, read.slice(0, at)).map(toFieldError(at)));
  if (faults.length > 0) throw validationError(faults);
  return read.map((question, at) => ({ ...question, rank: question.rank ?? at })).sort((a, b) => a.rank - b.rank);
}

function isSiteQuestion(element: unknown): boolean {
  const id = typeof element === "object" && element !== null ? (element as { id?: unknown }).id : null;
  return typeof id === "string" && id.toLowerCase() === SITE_QUESTION_ID;
}

function toFieldError(at: number): (fault: [member: string, detail: string]) => FieldError {
  return ([member, detail]) => {
    const field = `${FIELD}[${at}].${member}`;
    return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
  };
}

function validateQuestion(
  { id, variable, type, options }: ScenarioQuestion,
  before: readonly ScenarioQuestion[],
): [string, string][] {
  const faults: [string, string][] = [];
  if (id === SITE_QUESTION_ID) faults.push(["id", "It is the id of the question about the site."]);
  if (!VARIABLE_PATTERN.test(variable)) faults.push(["variable", VARIABLE_SYNTAX_MESSAGE]);
  if (before.some((other) => isSameName(other.variable, variable))) faults.push(["variable", "It is used twice."]);
  if (type === "option" && options.length === 0) faults.push(["options", "At least 1."]);
  if (type === "text" && options.length > 0) faults.push(["options", "A question that is answered in words has none."]);
  if (new Set(options.map((each) => each.toLowerCase())).size < options.length) {
    faults.push(["options", "Each answer can be given once."]);
  }
  return faults;
}

/** What a variable looks like, in words. */
const VARIABLE_SYNTAX_MESSAGE = "A letter, then 2 to 31 letters, digits and underscores.";

function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** The stored questions of a scenario. */
export function storedQuestionsOf({ fields }: Pick<ScenarioRow, "fields">): ScenarioQuestion[] {
  return (fields ?? []) as ScenarioQuestion[];
}

/** The variable that holds the location in words. */
export function locationVariableOf({ locationVariable }: Pick<ScenarioRow, "locationVariable">): string {
  return locationVariable ?? "location";
}

/** Throws CallerError when the variable of the location is none, or that of a question. */
export function assertLocationVariable(row: ScenarioRow): void {
  const variable = locationVariableOf(row);
  const isTaken =
    row.locationEnabled && storedQuestionsOf(row).some((question) => isSameName(question.variable, variable));
  const detail = !VARIABLE_PATTERN.test(variable)
    ? VARIABLE_SYNTAX_MESSAGE
    : isTaken
      ? "A question has the same variable."
      : null;
  if (detail === null) return;
  const field = "locationVariable";
  throw validationError([{ field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` }]);
}

/** The question about the site of a scenario with a location: always the last one. */
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
