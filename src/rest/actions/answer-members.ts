import { BugError } from "../../base/errors.ts";
import type { Answer } from "../action.ts";

/** The answer about one row with further members beside those of its representation. */
export function withMembers(answer: Answer, members: Readonly<Record<string, unknown>>): Answer {
  if (typeof answer.body !== "string") throw new BugError("only a JSON answer takes further members");
  return { ...answer, body: JSON.stringify({ ...(JSON.parse(answer.body) as object), ...members }) };
}
