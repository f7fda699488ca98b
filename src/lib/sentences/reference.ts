/** A sentence by code; a parameter that contains sentences is a list of them and of what is between them. */
export interface SentenceReference {
  code: string;
  params: Readonly<Record<string, string | number | readonly (SentenceReference | string)[]>>;
  /** The sentence in other languages, where the core's catalogue lacks it. */
  translations?: Readonly<Record<string, string>>;
}

/** Renders a sentence of the catalogue of a language. */
export type RenderSentence = (code: string, params: Readonly<Record<string, string | number>>) => string;

/** A sentence by code in the words of `render`, with the sentences within it. */
export function renderReference({ code, params }: SentenceReference, render: RenderSentence): string {
  const values = Object.entries(params).map(([name, value]): [string, string | number] => [
    name,
    typeof value === "string" || typeof value === "number"
      ? value
      : value.map((part) => (typeof part === "string" ? part : renderReference(part, render))).join(""),
  ]);
  return render(code, Object.fromEntries(values));
}
