import { invalidValue, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { text } from "../schema/field.ts";
import { compileValidator } from "../schema/validator.ts";
import {
  createSiteQuestion,
  type ScenarioQuestion,
  type ScenarioRow,
  SITE_QUESTION_ID,
  storedQuestionsOf,
} from "./scenario-questions.ts";

/** An answer, stored with the question as it was asked; null for an open question. */
export interface StoredAnswer extends Omit<ScenarioQuestion, "id" | "type"> {
  fieldId: string;
  type: ScenarioQuestion["type"] | "site";
  answer: string | null;
}

export interface ParsedAnswers {
  answered: StoredAnswer[];
  /** Answer to the site question; null without an answer. */
  site: string | null;
}

/** @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
const MAX_CHARACTERS = 1_000;
const FIELD = "fields";
const checker = compileValidator({ answer: text("An answer.", { max: MAX_CHARACTERS }) });

/**
 * Parses `[{fieldId | fieldVariable, answer}]`. With `reportsSite` the site question is one of the questions. Throws
 * CallerError for unknown questions, duplicate answers, answers that are not an option, and, unless `isPartial`, for required
 * questions without an answer. @source docs/decisions/0007-scenarios.md, Starting a scenario
 */
export function parseAnswers(
  row: ScenarioRow,
  input: unknown,
  { reportsSite, isPartial = false }: { reportsSite: boolean; isPartial?: boolean },
): ParsedAnswers {
  const given = input ?? [];
  if (!Array.isArray(given)) throw invalidValue(FIELD, sentence("field.must-be-a-list"));
  const asked = [...storedQuestionsOf(row), ...(row.locationEnabled && reportsSite ? [createSiteQuestion(row)] : [])];
  const answers = new Map<string, string>();
  for (const [at, element] of given.entries()) {
    const { id, answer } = parseAnswer(element, asked, `${FIELD}[${at}]`);
    if (answers.has(id)) throw invalidValue(`${FIELD}[${at}]`, sentence("field.duplicate-answer-to-the-same-question"));
    if (answer !== null) answers.set(id, answer);
  }
  const open = asked.filter(({ id, required }) => required && id !== SITE_QUESTION_ID && !answers.has(id));
  if (open.length > 0 && !isPartial) {
    throw validationError(
      open.map(({ name }) => ({
        field: FIELD,
        type: "required",
        message: sentence("field.question-name-is-required", { name }),
      })),
    );
  }
  const answered = asked
    .filter(({ id }) => id !== SITE_QUESTION_ID || answers.has(id))
    .map(({ id, ...question }) => ({ fieldId: id, ...question, answer: answers.get(id) ?? null }));
  return { answered, site: answers.get(SITE_QUESTION_ID) ?? null };
}

type AskedQuestion = Pick<StoredAnswer, "name" | "variable" | "type" | "options"> & { id: string };

function parseAnswer(
  element: unknown,
  asked: readonly AskedQuestion[],
  at: string,
): { id: string; answer: string | null } {
  if (typeof element !== "object" || element === null) throw invalidValue(at, sentence("field.must-be-an-object"));
  const { fieldId = null, fieldVariable = null, answer = null } = element as Record<string, unknown>;
  const question = asked.find(({ id, variable }) =>
    fieldId === null
      ? typeof fieldVariable === "string" && variable.toLowerCase() === fieldVariable.toLowerCase()
      : typeof fieldId === "string" && id === fieldId.toLowerCase(),
  );
  if (!question)
    throw invalidValue(
      `${at}.${fieldId === null ? "fieldVariable" : "fieldId"}`,
      sentence("field.the-question-was-not-found-in-the-scenario"),
    );
  return { id: question.id, answer: parseAnswerText(answer, question, `${at}.answer`) };
}

/** Numbers and booleans are converted to text; an empty text leaves a question open. */
function parseAnswerText(given: unknown, { type, options }: AskedQuestion, field: string): string | null {
  if (given === null || given === "") return null;
  const answer = typeof given === "number" || typeof given === "boolean" ? String(given) : given;
  const { values, faults } = checker.validate({ answer }, "create");
  if (faults[0])
    throw invalidValue(
      field,
      sentence("field.must-be-a-string-of-at-most-limit-characters", { limit: MAX_CHARACTERS }),
    );
  const answerText = values.answer as string;
  if (type !== "option") return answerText;
  const chosen = options.find((option) => option.toLowerCase() === answerText.toLowerCase());
  if (chosen === undefined)
    throw invalidValue(field, sentence("field.must-be-one-of-values", { values: options.join(", ") }));
  return chosen;
}

/** Values of the template variables `{{variable}}`. An open question becomes an empty text; with `isPartial` its placeholder stays. */
export function answerVariables(answered: readonly StoredAnswer[], isPartial = false): Record<string, string> {
  const known = answered.filter(({ answer, type }) => type !== "site" && !(isPartial && answer === null));
  return Object.fromEntries(known.map(({ variable, answer }) => [variable, answer ?? ""]));
}
