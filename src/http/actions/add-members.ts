import { BugError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";

/** The answer about one row with further members beside those of its representation. */
export function addMembers(answer: HttpResponse, members: Readonly<Record<string, unknown>>): HttpResponse {
  if (typeof answer.body !== "string") throw new BugError("only a JSON answer takes further members");
  return { ...answer, body: JSON.stringify({ ...(JSON.parse(answer.body) as object), ...members }) };
}
