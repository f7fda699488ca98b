import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Stands for a value that is not shown. Sent back, it means that the value is kept. */
const HIDDEN = "[secret]";
const MAX_HEADERS = 20;
/** @source RFC 9110 §5.1 and §5.5 */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,2000}$/;
/** Set by Carillon, or decides how the message is framed. */
const RESERVED_HEADERS =
  /^(host|content-length|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|webhook-.*)$/;

type Values = Record<string, unknown>;

/**
 * Moves headers and authorization of a webhook into the secret fields of the row (`system`), and leaves their names. Headers are
 * an object or a list of `{name, value}`. Throws CallerError.
 */
export function separateSecrets(webhook: Values): { headers?: string | null; authorization?: string | null } {
  const headers = headersOf(webhook.headers ?? null);
  const authorization = authorizationOf(webhook.authorization ?? null);
  webhook.headers = headers && Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN]));
  webhook.authorization = authorization && HIDDEN;
  const values = Object.values(headers ?? {});
  const isKept = values.length > 0 && values.every((value) => value === HIDDEN);
  if (!isKept && values.includes(HIDDEN))
    throw invalidValue("action.webhook.headers", sentence("field.must-hold-the-values-of-all-headers-because-one-of"));
  return {
    ...(isKept ? {} : { headers: headers && JSON.stringify(headers) }),
    ...(authorization === HIDDEN ? {} : { authorization }),
  };
}

function headersOf(given: unknown): Record<string, string> | null {
  const at = "action.webhook.headers";
  if (given === null || given === "") return null;
  const pairs = Array.isArray(given)
    ? given.map((each: Values | null) => [each?.name ?? each?.key, each?.value])
    : typeof given === "object"
      ? Object.entries(given)
      : null;
  if (pairs === null) throw invalidValue(at, sentence("field.must-be-an-object-of-names-and-values"));
  if (pairs.length > MAX_HEADERS)
    throw invalidValue(at, sentence("field.must-have-at-most-limit-headers", { limit: MAX_HEADERS }));
  const headers = pairs.map(([name, value]): [string, string] => {
    if (typeof name !== "string" || !HEADER_NAME.test(name))
      throw invalidValue(at, sentence("field.a-header-has-an-invalid-name"));
    const text = typeof value === "number" ? String(value) : value;
    if (typeof text !== "string" || !HEADER_VALUE.test(text))
      throw invalidValue(at, sentence("field.the-value-of-name-is-invalid", { name }));
    if (RESERVED_HEADERS.test(name.toLowerCase()))
      throw invalidValue(at, sentence("field.the-header-name-is-set-by-carillon", { name }));
    if (name.toLowerCase() === "authorization")
      throw invalidValue(at, sentence("field.use-action-webhook-authorization-for-this-header"));
    return [name.toLowerCase(), text];
  });
  return headers.length === 0 ? null : Object.fromEntries(headers);
}

/** @source RFC 7617; RFC 6750 */
function authorizationOf(given: unknown): string | null {
  const at = "action.webhook.authorization";
  if (given === null || given === "") return null;
  if (typeof given === "string") {
    if (!HEADER_VALUE.test(given)) throw invalidValue(at, sentence("field.must-be-the-value-of-a-header"));
    return given;
  }
  const { type, username, password, token } = given as Values;
  const kind = typeof type === "string" ? type.toLowerCase() : "";
  if (kind === "bearer" && typeof token === "string" && /^[\x21-\x7e]{1,4000}$/.test(token)) return `Bearer ${token}`;
  if (kind === "basic" && typeof username === "string" && typeof password === "string" && !username.includes(":"))
    return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  throw invalidValue(at, sentence("field.must-be-text-type-basic-username-password-or-type-bearer"));
}
