import { BugError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";

/** Adds members to a JSON object response. */
export function addMembers(response: HttpResponse, members: Readonly<Record<string, unknown>>): HttpResponse {
  if (typeof response.body !== "string") throw new BugError("only a JSON response can take further members");
  return { ...response, body: JSON.stringify({ ...(JSON.parse(response.body) as object), ...members }) };
}
