/** A sentence by code; parameters that are sentences themselves are lists of them. */
export interface SentenceReference {
  code: string;
  params: Readonly<Record<string, string | number | readonly SentenceReference[]>>;
}

/** Renders a sentence of the catalogue of a language. */
export type RenderSentence = (code: string, params: Readonly<Record<string, string | number>>) => string;

/** A sentence by code in the words of `render`, with the sentences within it. */
export function renderReference({ code, params }: SentenceReference, render: RenderSentence): string {
  const values = Object.entries(params).map(([name, value]): [string, string | number] => [
    name,
    typeof value === "string" || typeof value === "number"
      ? value
      : value.map((each) => renderReference(each, render)).join(" "),
  ]);
  return render(code, Object.fromEntries(values));
}
