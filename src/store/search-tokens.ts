/** Splits a text into search tokens: letters and digits only, without case and accents. */
export function tokenizeSearchText(text: string): string[] {
  return foldCase(text).match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}

/**
 * Creates the SQL function `holds_words(words, text, …)`: 1 when each of `words` (JSON) is a token of one of the texts;
 * the last word also matches as a prefix. Same result as the full-text index, at a few µs per row.
 */
export function createTokenMatcher(): (...given: unknown[]) => number {
  let last: { json: unknown; words: string[] } = { json: null, words: [] };
  return (json, ...texts) => {
    // The words are the same for every row of a select.
    if (last.json !== json) last = { json, words: JSON.parse(json as string) as string[] };
    const { words } = last;
    const folded = texts.map((text) => (typeof text === "string" ? foldCase(text) : ""));
    if (!words.every((word) => folded.some((text) => text.includes(word)))) return 0;
    const tokens = folded.map((text) => tokenizeSearchText(text));
    const holds = (word: string, at: number): boolean => {
      const matches =
        at === words.length - 1 ? (each: string) => each.startsWith(word) : (each: string) => each === word;
      return tokens.some((each) => each.some(matches));
    };
    return words.every(holds) ? 1 : 0;
  };
}

const PLAIN = /^[\0-\x7f]*$/;

function foldCase(text: string): string {
  const small = text.toLowerCase();
  return PLAIN.test(small) ? small : small.normalize("NFD").replace(/\p{Mn}/gu, "");
}
