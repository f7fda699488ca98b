/** Result of one check. */
export interface AuthenticationCheck {
  /** Method such as `dkim`, `dmarc` or `spf`; result such as `pass` or `fail`; lower case. */
  method: string;
  result: string;
  /** Checked properties, such as `header.d`, with all values; lower case. */
  properties: ReadonlyMap<string, readonly string[]>;
}

/** A parsed `Authentication-Results` header. */
export interface AuthenticationResults {
  /** Authentication server id, lower case. */
  server: string;
  results: AuthenticationCheck[];
}

/** Placeholder for a quoted string that is not a plain word; never equals a name or domain. */
const QUOTED = '"';
const PLAIN = /^[\w.@-]*$/;

/**
 * Parses an `Authentication-Results` header; null if a comment or quoted string is not closed. Parts of it are
 * controlled by the sender, so quoted strings and comments, however nested, never count as anything else.
 * @source RFC 8601 §2.2, RFC 5322 §3.2.2, §3.2.4
 */
export function parseAuthenticationResults(value: string): AuthenticationResults | null {
  const [id, ...rest] = splitSections(value) ?? [];
  if (id === undefined) return null;
  return { server: id.trim().split(/\s+/)[0] ?? "", results: rest.map(parseResult).filter((each) => each !== null) };
}

/** Sections between semicolons, lower case, without comments; null if something is not closed. */
function splitSections(value: string): string[] | null {
  const sections = [""];
  const add = (text: string): void => {
    sections[sections.length - 1] += text.toLowerCase();
  };
  let depth = 0;
  /** Content of the open quoted string; null outside. */
  let quoted: string | null = null;
  for (let at = 0; at < value.length; at++) {
    const isEscaped = value[at] === "\\" && (depth > 0 || quoted !== null);
    const character = (isEscaped ? value[++at] : value[at]) ?? "";
    if (quoted !== null) {
      if (character !== '"' || isEscaped) quoted += character;
      else {
        add(PLAIN.test(quoted) ? quoted : QUOTED);
        quoted = null;
      }
    } else if (character === "(" && !isEscaped) depth++;
    else if (character === ")" && depth > 0 && !isEscaped) {
      depth--;
      add(" ");
    } else if (depth > 0) continue;
    else if (character === '"') quoted = "";
    else if (character === ";") sections.push("");
    else add(character);
  }
  return depth > 0 || quoted !== null ? null : sections;
}

function parseResult(section: string): AuthenticationCheck | null {
  const [check = "", ...assignments] = section
    .trim()
    .replace(/\s*([=/])\s*/g, "$1")
    .split(/\s+/);
  const [, method, result] = /^([a-z0-9-]+)(?:\/\d+)?=([a-z0-9-]+)$/.exec(check) ?? [];
  if (method === undefined || result === undefined) return null;
  const properties = new Map<string, string[]>();
  for (const assignment of assignments) {
    const [name = "", ...rest] = assignment.split("=");
    properties.set(name, [...(properties.get(name) ?? []), rest.join("=")]);
  }
  return { method, result, properties };
}
