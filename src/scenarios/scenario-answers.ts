import { invalidValue, validationError } from "../lib/errors.ts";
import { text } from "../schema/field.ts";
import { compileValidator } from "../schema/validator.ts";
import {
  createSiteQuestion,
  type ScenarioQuestion,
  type ScenarioRow,
  SITE_QUESTION_ID,
  storedQuestionsOf,
} from "./scenario-questions.ts";

/** An answer as it is kept with the question as it was asked; null for a question that was left open. */
export interface StoredAnswer extends Omit<ScenarioQuestion, "id" | "type"> {
  fieldId: string;
  type: ScenarioQuestion["type"] | "site";
  answer: string | null;
}

/** What was answered. */
export interface ParsedAnswers {
  answered: StoredAnswer[];
  /** Answer to the question about the site; null when it was not answered. */
  site: string | null;
}

/** own choice */
const MAX_CHARACTERS = 1_000;
const FIELD = "fields";
const checker = compileValidator({ answer: text("An answer.", { max: MAX_CHARACTERS }) });

/**
 * Reads `[{fieldId | fieldVariable, answer}]`. With `reportsSite` the question about the site is one of them. Throws
 * CallerError for unknown questions, ones answered twice or with none of their options, and, unless `isPartial`, for
 * required ones that were left open. @source decisions.md 7
 */
export function parseAnswers(
  row: ScenarioRow,
  input: unknown,
  { reportsSite, isPartial = false }: { reportsSite: boolean; isPartial?: boolean },
): ParsedAnswers {
  const given = input ?? [];
  if (!Array.isArray(given)) throw invalidValue(FIELD, "A list is expected.");
  const asked = [...storedQuestionsOf(row), ...(row.locationEnabled && reportsSite ? [createSiteQuestion(row)] : [])];
  const answers = new Map<string, string>();
  for (const [at, element] of given.entries()) {
    const { id, answer } = parseAnswer(element, asked, `${FIELD}[${at}]`);
    if (answers.has(id)) throw invalidValue(`${FIELD}[${at}]`, "The question is answered twice.");
    if (answer !== null) answers.set(id, answer);
  }
  const open = asked.filter(({ id, required }) => required && id !== SITE_QUESTION_ID && !answers.has(id));
  if (open.length > 0 && !isPartial) {
    throw validationError(
      open.map(({ name }) => ({ field: FIELD, type: "required", message: `Question ${name} is required.` })),
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
  if (typeof element !== "object" || element === null) throw invalidValue(at, "An object is expected.");
  const { fieldId = null, fieldVariable = null, answer = null } = element as Record<string, unknown>;
  const question = asked.find(({ id, variable }) =>
    fieldId === null
      ? typeof fieldVariable === "string" && variable.toLowerCase() === fieldVariable.toLowerCase()
      : typeof fieldId === "string" && id === fieldId.toLowerCase(),
  );
  if (!question) throw invalidValue(`${at}.${fieldId === null ? "fieldVariable" : "fieldId"}`, "No such question.");
  return { id: question.id, answer: parseAnswerText(answer, question, `${at}.answer`) };
}

/** own choice: numbers and booleans are taken as texts, an empty text leaves a question open. */
function parseAnswerText(given: unknown, { type, options }: AskedQuestion, field: string): string | null {
  if (given === null || given === "") return null;
  const answer = typeof given === "number" || typeof given === "boolean" ? String(given) : given;
  const { values, faults } = checker.validate({ answer }, "create");
  if (faults[0]) throw invalidValue(field, `A text of at most ${MAX_CHARACTERS} characters is expected.`);
  const words = values.answer as string;
  if (type !== "option") return words;
  const chosen = options.find((option) => option.toLowerCase() === words.toLowerCase());
  if (chosen === undefined) throw invalidValue(field, `One of ${options.join(", ")}.`);
  return chosen;
}

/** The values of a scenario's places `{{variable}}`. own choice: what was left open is an empty text, or with `isPartial` the place stays. */
export function answerVariables(answered: readonly StoredAnswer[], isPartial = false): Record<string, string> {
  const known = answered.filter(({ answer, type }) => type !== "site" && !(isPartial && answer === null));
  return Object.fromEntries(known.map(({ variable, answer }) => [variable, answer ?? ""]));
}
