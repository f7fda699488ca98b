import { CallerError } from "../lib/errors.ts";
import { type Query, textParameter } from "./query/query.ts";

const BEARER_PATTERN = /^bearer +([\w\-.~+/]+=*) *$/i;

/**
 * The token of a request outside its body: from the Authorization header or the parameter `access_token`; null without.
 * Throws CallerError unauthorized for a header that is no bearer token, invalid-value when both are there.
 * @source service-api.md, Authentication 2; RFC 6750 §2
 */
export function accessTokenOf(authorization: string | null, query: Query): string | null {
  const parameter = textParameter(query, "access_token");
  if (authorization === null) return parameter;
  if (parameter !== null) throw duplicateTokenError();
  const match = BEARER_PATTERN.exec(authorization);
  if (!match) throw new CallerError("unauthorized", "Use Authorization: Bearer with an access token.");
  return match[1] as string;
}

/** The token in a form-encoded body; `other` is one that was found elsewhere. @source RFC 6750 §2.2 */
export function accessTokenInForm(form: Readonly<Record<string, unknown>>, other: string | null): string | null {
  const token = textParameter(form, "access_token");
  if (token !== null && other !== null) throw duplicateTokenError();
  return token ?? other;
}

function duplicateTokenError(): CallerError {
  return new CallerError("invalid-value", "Send the access token in one way only.");
}
