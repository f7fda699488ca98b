import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Maximum nesting depth of JSON in requests: arrays and objects together. */
export const MAX_JSON_DEPTH = 32;
/** Maximum number of members of one JSON object; their total is bounded by the body size. */
export const MAX_OBJECT_MEMBERS = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parses untrusted JSON. Depth and width are checked before parsing, because deep values overflow recursive code and
 * wide ones block the process. Throws CallerError invalid-value that never contains the text.
 * @source docs/decisions/0038-reliability.md
 */
export function parseUntrustedJson(text: string): unknown {
  checkShape(text);
  try {
    return JSON.parse(text);
  } catch {
    throw tooComplexJson(sentence("error.the-body-is-not-valid-json"));
  }
}

function checkShape(text: string): void {
  const members = new Int32Array(MAX_JSON_DEPTH + 1);
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      level += 1;
      if (level > MAX_JSON_DEPTH)
        throw tooComplexJson(sentence("error.json-may-be-nested-at-most-limit-levels-deep", { limit: MAX_JSON_DEPTH }));
      members[level] = 0;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) level = Math.max(0, level - 1);
    else if (code === COLON) {
      members[level] = (members[level] ?? 0) + 1;
      if ((members[level] ?? 0) > MAX_OBJECT_MEMBERS)
        throw tooComplexJson(
          sentence("error.a-json-object-may-have-at-most-limit-members", { limit: MAX_OBJECT_MEMBERS }),
        );
    }
  }
}

/** Index of the closing quote of the string that starts at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const end = text.indexOf('"', at);
    if (end < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
    at = end;
  }
}

function tooComplexJson(message: string): CallerError {
  return new CallerError("invalid-value", message);
}
