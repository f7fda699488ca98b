/** What one check of a mail gave. */
export interface AuthenticationCheck {
  /** `dkim`, `dmarc`, `spf` …, and `pass`, `fail` …; in small letters. */
  method: string;
  result: string;
  /** What was checked, such as `header.d`, with all its values; names and values in small letters. */
  properties: ReadonlyMap<string, readonly string[]>;
}

/** What stands in an `Authentication-Results`. */
export interface AuthenticationResults {
  /** The server that has written it, in small letters. */
  server: string;
  results: AuthenticationCheck[];
}

/** Takes the place of what stands in quotes and is no plain word: no name and no domain is it. */
const QUOTED = '"';
const PLAIN = /^[\w.@-]*$/;

/**
 * Reads an `Authentication-Results`; null for one that ends within a comment or quotes. Parts of it are in the sender's
 * words, so that what stands in quotes or in a comment, however nested, never counts as anything else.
 * @source RFC 8601 §2.2, RFC 5322 §3.2.2, §3.2.4
 */
export function parseAuthenticationResults(value: string): AuthenticationResults | null {
  const [id, ...rest] = splitSections(value) ?? [];
  if (id === undefined) return null;
  return { server: id.trim().split(/\s+/)[0] ?? "", results: rest.map(parseResult).filter((each) => each !== null) };
}

/** What stands between semicolons, in small letters and without comments; null where something is not closed. */
function splitSections(value: string): string[] | null {
  const sections = [""];
  const add = (text: string): void => {
    sections[sections.length - 1] += text.toLowerCase();
  };
  let depth = 0;
  /** What stood in the quotes that are open; null outside of quotes. */
  let quoted: string | null = null;
  for (let at = 0; at < value.length; at++) {
    const isEscaped = value[at] === "\\" && (depth > 0 || quoted !== null);
    const sign = (isEscaped ? value[++at] : value[at]) ?? "";
    if (quoted !== null) {
      if (sign !== '"' || isEscaped) quoted += sign;
      else {
        add(PLAIN.test(quoted) ? quoted : QUOTED);
        quoted = null;
      }
    } else if (sign === "(" && !isEscaped) depth++;
    else if (sign === ")" && depth > 0 && !isEscaped) {
      depth--;
      add(" ");
    } else if (depth > 0) continue;
    else if (sign === '"') quoted = "";
    else if (sign === ";") sections.push("");
    else add(sign);
  }
  return depth > 0 || quoted !== null ? null : sections;
}

function parseResult(section: string): AuthenticationCheck | null {
  const [check = "", ...words] = section
    .trim()
    .replace(/\s*([=/])\s*/g, "$1")
    .split(/\s+/);
  const [, method, result] = /^([a-z0-9-]+)(?:\/\d+)?=([a-z0-9-]+)$/.exec(check) ?? [];
  if (method === undefined || result === undefined) return null;
  const properties = new Map<string, string[]>();
  for (const word of words) {
    const [name = "", ...rest] = word.split("=");
    properties.set(name, [...(properties.get(name) ?? []), rest.join("=")]);
  }
  return { method, result, properties };
}
