import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { type Query, textParameter } from "./query/query.ts";

const BEARER_PATTERN = /^bearer +([\w\-.~+/]+=*) *$/i;

/**
 * Token from the Authorization header or the parameter `access_token`; null without one. Throws CallerError
 * unauthorized for an invalid header, invalid-value if both are present.
 * @source RFC 6750 §2; docs/decisions/0042-api-contract.md
 */
export function accessTokenOf(authorization: string | null, query: Query): string | null {
  const parameter = textParameter(query, "access_token");
  if (authorization === null) return parameter;
  if (parameter !== null) throw duplicateTokenError();
  const match = BEARER_PATTERN.exec(authorization);
  if (!match)
    throw new CallerError(
      "unauthorized",
      sentence("auth.the-authorization-header-must-be-bearer-with-an-access-token"),
    );
  return match[1] as string;
}

/** The token in a form-encoded body; `other` is a token found elsewhere. @source RFC 6750 §2.2 */
export function accessTokenInForm(form: Readonly<Record<string, unknown>>, other: string | null): string | null {
  const token = textParameter(form, "access_token");
  if (token !== null && other !== null) throw duplicateTokenError();
  return token ?? other;
}

function duplicateTokenError(): CallerError {
  return new CallerError("invalid-value", sentence("auth.the-access-token-must-be-sent-in-only-one-way"));
}
