import { RE2JS } from "re2js";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Matches phone numbers with patterns; each pattern is compiled once. */
export interface NumberPatterns {
  /** The matched groups, `$0` first; null unless the whole number matches. */
  match(pattern: string, number: string): string[] | null;
}

/** Compiled patterns kept in the cache. */
const MAX_CACHED_PATTERNS = 20_000;
/** RE2 program size, about 3 µs per instruction to compile; ten times an ordinary pattern. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
const MAX_PROGRAM_SIZE = 500;
/** Patterns of only these characters match themselves. */
const LITERAL_PATTERN = /^[0-9#]+$/;

/** An invalid pattern matches nothing. */
export function createNumberPatterns(): NumberPatterns {
  const compiled = new Map<string, RE2JS | null>();
  const compiledOf = (pattern: string): RE2JS | null => {
    const known = compiled.get(pattern);
    if (known !== undefined) return known;
    if (compiled.size >= MAX_CACHED_PATTERNS) compiled.clear();
    const made = compilePattern(pattern);
    compiled.set(pattern, made);
    return made;
  };
  return {
    match(pattern, number) {
      if (LITERAL_PATTERN.test(pattern)) return pattern === number ? [number] : null;
      const matcher = compiledOf(pattern)?.matcher(number);
      if (!matcher?.matches()) return null;
      return Array.from({ length: matcher.groupCount() + 1 }, (_, group) => matcher.group(group) ?? "");
    },
  };
}

/** Throws CallerError for a pattern that is invalid or too expensive. */
export function validateNumberPattern(field: string, pattern: string): void {
  if (/\\p/i.test(pattern)) throw invalidValue(field, sentence("field.must-not-use-named-character-classes"));
  const compiled = compilePattern(pattern);
  if (compiled === null) throw invalidValue(field, sentence("field.must-be-a-valid-re2-pattern"));
  if (compiled.programSize() > MAX_PROGRAM_SIZE)
    throw invalidValue(field, sentence("field.the-pattern-exceeds-the-cost-limit-use-a-shorter-pattern"));
}

/** Replaces `$1` … by the matched groups; a missing group becomes an empty string. */
export function substituteGroups(text: string, groups: readonly string[]): string {
  return text.replace(/\$(\d)/g, (_, group: string) => groups[Number(group)] ?? "");
}

function compilePattern(pattern: string): RE2JS | null {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return null;
  }
}
