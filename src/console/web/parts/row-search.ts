/** The words of a search, in small letters. */
export function termsOf(text: string | undefined): string[] {
  return (text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
}

/** True when each term occurs in one of the row's texts or attributes; ids and times are no texts. */
export function rowFits(row: object, terms: readonly string[]): boolean {
  if (terms.length === 0) return true;
  const { attributes } = row as { attributes?: object };
  const texts = [...Object.entries(row), ...Object.entries(attributes ?? {})]
    .filter(([name, value]) => typeof value === "string" && !/(^id|Id|At)$/.test(name))
    .map(([, value]) => String(value).toLowerCase());
  return terms.every((term) => texts.some((text) => text.includes(term)));
}
