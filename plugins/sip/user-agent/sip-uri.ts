/** A SIP URI. @source RFC 3261 §19.1 */
export interface SipUri {
  scheme: "sip" | "sips";
  /** As written, with escapes; null without a user part. */
  user: string | null;
  host: string;
  port: number | null;
  /** Names in lower case; a parameter without a value is an empty string. */
  params: ReadonlyMap<string, string>;
}

/** Contacts of devices behind push services have parameters of several hundred characters. */
const MAX_LENGTH = 2_048;
const SIP_URI =
  /^(sips?):(?:([^@\s<>"]{0,255})@)?(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(\d{1,5}))?((?:;[^;?\s<>]{0,2000})*)(?:\?\S{0,1000})?$/i;

/**
 * Parses a SIP URI; null if invalid. Headers after `?` and passwords are dropped; quotes in parameters, which some
 * devices write, are removed.
 */
export function parseSipUri(text: string): SipUri | null {
  const found = text.length <= MAX_LENGTH ? SIP_URI.exec(text) : null;
  if (!found) return null;
  const [, scheme = "", user, host = "", port, params = ""] = found;
  const number = port === undefined ? null : Number(port);
  if (number !== null && (number < 1 || number > 65_535)) return null;
  return {
    scheme: scheme.toLowerCase() as "sip" | "sips",
    user: user?.split(":", 1)[0] || null,
    host: host.toLowerCase(),
    port: number,
    params: parseParameters(params.replaceAll('"', "")),
  };
}

/** Formats a URI for a request line. */
export function formatSipUri({ scheme, user, host, port, params }: SipUri): string {
  const name = user === null ? "" : `${user}@`;
  const tail = [...params].map(([key, value]) => (value === "" ? `;${key}` : `;${key}=${value}`)).join("");
  return `${scheme}:${name}${host}${port === null ? "" : `:${port}`}${tail}`;
}

/** URI parameters that a comparison does not ignore if only one side has them. @source RFC 3261 §19.1.4 */
const SIGNIFICANT_PARAMS = ["user", "ttl", "method", "maddr", "transport"];

/** True if both URIs address the same resource. @source RFC 3261 §19.1.4 */
export function isEquivalentUri(one: SipUri, other: SipUri): boolean {
  return (
    one.scheme === other.scheme &&
    unescapeUser(one.user) === unescapeUser(other.user) &&
    one.host === other.host &&
    one.port === other.port &&
    hasEquivalentParams(one.params, other.params)
  );
}

function hasEquivalentParams(one: SipUri["params"], other: SipUri["params"]): boolean {
  const isSame = (name: string): boolean => one.get(name)?.toLowerCase() === other.get(name)?.toLowerCase();
  return [...one.keys()].every((name) => !other.has(name) || isSame(name)) && SIGNIFICANT_PARAMS.every(isSame);
}

/** The user part without escapes; as written if they are invalid. */
export function unescapeUser(user: string | null): string | null {
  try {
    return user === null ? null : decodeURIComponent(user);
  } catch {
    return user;
  }
}

/** Escapes a user part. @source RFC 3261 §25.1, user */
export function escapeUser(name: string): string {
  return encodeURIComponent(Buffer.from(name).toString()).replaceAll("%2B", "+");
}

/** Parses `;name=value;name`; the first of a name wins, quotes around values are removed. */
export function parseParameters(text: string): Map<string, string> {
  const params = new Map<string, string>();
  for (const part of splitUnquoted(text, ";")) {
    const at = part.indexOf("=");
    const name = (at < 0 ? part : part.slice(0, at)).trim().toLowerCase();
    if (name === "" || params.has(name)) continue;
    params.set(name, at < 0 ? "" : unquote(part.slice(at + 1).trim()));
  }
  return params;
}

/** Splits at `separator` outside quotes and angle brackets; parts are trimmed, empty ones dropped. */
export function splitUnquoted(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let quoted = false;
  let inside = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (quoted && sign === "\\") at++;
    else if (sign === '"') quoted = !quoted;
    else if (!quoted && sign === "<") inside = true;
    else if (!quoted && sign === ">") inside = false;
    else if (!quoted && !inside && sign === separator) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** Removes the quotes of a quoted string. */
function unquote(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length >= 2
    ? text.slice(1, -1).replace(/\\(.)/g, "$1")
    : text;
}

/** A name-addr, as in From, To, Contact and Route. */
export interface NameAddress {
  uri: SipUri;
  /** Header parameters, not URI parameters. */
  params: ReadonlyMap<string, string>;
}

/**
 * Parses a name-addr or a URI without brackets; null if invalid. Brackets within a quoted display name do not count.
 * @source RFC 3261 §20.10
 */
export function parseNameAddress(text: string): NameAddress | null {
  const open = openingBracket(text);
  if (open >= 0) {
    const close = text.indexOf(">", open);
    const uri = close < 0 ? null : parseSipUri(text.slice(open + 1, close).trim());
    return uri && { uri, params: headerParameters(text) };
  }
  // Without brackets, parameters belong to the header.
  const [address = "", ...rest] = splitUnquoted(text, ";");
  const uri = parseSipUri(address);
  return uri && { uri, params: parseParameters(rest.join(";")) };
}

/** Header parameters of a name-addr, also if its URI is invalid or has no brackets. */
export function headerParameters(text: string): Map<string, string> {
  const open = openingBracket(text);
  return parseParameters(open < 0 ? text.replace(/^[^;]*/, "") : text.slice(open).replace(/^[^>]*>?/, ""));
}

/** Offset of the bracket that opens the URI; -1 without one. */
function openingBracket(text: string): number {
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    if (quoted && text[at] === "\\") at++;
    else if (text[at] === '"') quoted = !quoted;
    else if (!quoted && text[at] === "<") return at;
  }
  // A display name whose quotes do not match.
  return quoted ? text.lastIndexOf("<") : -1;
}
