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

const MAX_LENGTH = 512;
const SIP_URI =
  /^(sips?):(?:([^@\s<>"]{1,255})@)?(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(\d{1,5}))?((?:;[^;?\s<>"]{1,255})*)(?:\?\S{0,255})?$/i;

/** Parses a SIP URI; null if invalid. Headers after `?` are dropped. */
export function parseSipUri(text: string): SipUri | null {
  const found = text.length <= MAX_LENGTH ? SIP_URI.exec(text) : null;
  if (!found) return null;
  const [, scheme = "", user, host = "", port, params = ""] = found;
  const number = port === undefined ? null : Number(port);
  if (number !== null && (number < 1 || number > 65_535)) return null;
  return {
    scheme: scheme.toLowerCase() as "sip" | "sips",
    user: user?.split(":", 1)[0] ?? null,
    host: host.toLowerCase(),
    port: number,
    params: parseParameters(params),
  };
}

/** Formats a URI for a request line. */
export function formatSipUri({ scheme, user, host, port, params }: SipUri): string {
  const name = user === null ? "" : `${user}@`;
  const tail = [...params].map(([key, value]) => (value === "" ? `;${key}` : `;${key}=${value}`)).join("");
  return `${scheme}:${name}${host}${port === null ? "" : `:${port}`}${tail}`;
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

/** Parses a name-addr; null if invalid. */
export function parseNameAddress(text: string): NameAddress | null {
  const open = text.indexOf("<");
  if (open >= 0) {
    const close = text.indexOf(">", open);
    const uri = close < 0 ? null : parseSipUri(text.slice(open + 1, close).trim());
    return uri && { uri, params: parseParameters(text.slice(close + 1)) };
  }
  // Without brackets, parameters belong to the header.
  const [address = "", ...rest] = text.split(";");
  const uri = parseSipUri(address.trim());
  return uri && { uri, params: parseParameters(rest.join(";")) };
}
