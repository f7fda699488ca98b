import { CallerError } from "../base/errors.ts";
import { type Query, singleText } from "./query.ts";

const BEARER = /^bearer +([\w\-.~+/]+=*) *$/i;

/**
 * The token of a request outside its body: from the Authorization header or the parameter `access_token`; null without.
 * Throws CallerError unauthorized for a header that is no bearer token, invalid-value when both are there.
 * @source service-api.md, Authentication 2; RFC 6750 §2
 */
export function tokenOf(authorization: string | null, query: Query): string | null {
  const parameter = singleText(query, "access_token");
  if (authorization === null) return parameter;
  if (parameter !== null) throw twoWays();
  const match = BEARER.exec(authorization);
  if (!match) throw new CallerError("unauthorized", "Use Authorization: Bearer with an access token.");
  return match[1] as string;
}

/** The token in a form-encoded body; `other` is one that was found elsewhere. @source RFC 6750 §2.2 */
export function tokenInForm(form: Readonly<Record<string, unknown>>, other: string | null): string | null {
  const token = singleText(form, "access_token");
  if (token !== null && other !== null) throw twoWays();
  return token ?? other;
}

function twoWays(): CallerError {
  return new CallerError("invalid-value", "Send the access token in one way only.");
}
