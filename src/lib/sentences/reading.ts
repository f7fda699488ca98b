import type { SentenceReference } from "./reference.ts";

/** A sentence that a text was made from, and the number of characters that are the message's. */
export interface FoundSentence {
  code: string;
  params: Record<string, string | number>;
  words: number;
}

type FindSentence = (text: string) => FoundSentence | null;

/** Sentences within sentences that are read. */
const MAX_DEPTH = 4;
/** Longer texts are no sentence of a catalogue. */
const MAX_LENGTH = 10_000;
/** Ends of sentences that are tried in a text. */
const MAX_ENDS = 40;

/** Code and parameters of a sentence, with the sentences within it; null for other words. */
export function readReference(find: FindSentence, text: string): SentenceReference | null {
  return readNested(find, text, 0);
}

/** The sentences that a text consists of, and what is between them; null if it contains none. */
export function readReferences(find: FindSentence, text: string): (SentenceReference | string)[] | null {
  return text.length > MAX_LENGTH ? null : readSequence(find, text, 0);
}

function readNested(find: FindSentence, text: string, depth: number): SentenceReference | null {
  if (depth > MAX_DEPTH || text.length > MAX_LENGTH) return null;
  const found = find(text);
  if (found === null) return null;
  const params = Object.entries(found.params).map(([name, value]) => [
    name,
    typeof value === "string" ? (readSequence(find, value, depth + 1) ?? value) : value,
  ]);
  return { code: found.code, params: Object.fromEntries(params) };
}

/** A text by the sentences in it, with what is between them; null without one. */
function readSequence(find: FindSentence, text: string, depth: number): (SentenceReference | string)[] | null {
  // A list first: a sentence that begins with a value would take all earlier ones for it.
  const list = readPartsOf(find, text, "; ", depth) ?? readPartsOf(find, text, ", ", depth);
  if (list !== null) return list;
  const whole = readNested(find, text, depth);
  return whole === null ? (readSentencesIn(find, text, depth) ?? readNamed(find, text, depth)) : [whole];
}

/** A sentence with the name of what it is about before it, such as that of a host. */
function readNamed(find: FindSentence, text: string, depth: number): (SentenceReference | string)[] | null {
  const [, name = "", rest = ""] = /^([^:\n]{1,100}(?::[^:\s]{1,100})*: )(\S.*)$/s.exec(text) ?? [];
  const read = rest === "" ? null : readNested(find, rest, depth);
  return read === null ? null : [name, read];
}

/** Sentences that end with a full stop, one after the other. */
function readSentencesIn(find: FindSentence, text: string, depth: number): (SentenceReference | string)[] | null {
  const found: (SentenceReference | string)[] = [];
  let [start, tried] = [0, 0];
  while (start < text.length) {
    let read: SentenceReference | null = null;
    let end = text.indexOf(". ", start);
    for (; end !== -1 && read === null && tried < MAX_ENDS; tried++) {
      read = readNested(find, text.slice(start, end + 1), depth);
      if (read === null) end = text.indexOf(". ", end + 1);
    }
    if (read === null) {
      const rest = text.slice(start);
      found.push(readNested(find, rest, depth) ?? rest);
      break;
    }
    found.push(read, " ");
    start = end + 2;
  }
  return found.some((part) => typeof part !== "string") ? found : null;
}

/** Parts between separators, if each is a sentence. */
function readPartsOf(
  find: FindSentence,
  text: string,
  separator: string,
  depth: number,
): (SentenceReference | string)[] | null {
  const parts = text.split(separator, MAX_ENDS);
  if (parts.length === 1 || parts.join(separator) !== text) return null;
  const found = parts.map((part) => readNested(find, part, depth));
  if (found.includes(null)) return null;
  return found.flatMap((part, at) => (part === null ? [] : at === 0 ? [part] : [separator, part]));
}
