import { createSentenceRenderer } from "../lib/sentences/catalogue.ts";

/**
 * Renders the plugin's sentences: reasons and status texts by code and parameters. Returns the English text, which goes into
 * `reason`; Carillon reads code and parameters from it and shows the translation of `sentences/<language>.json`. A parameter
 * may itself be such a text. Words of a device stay as they are.
 * @source docs/decisions/0472-sentences-of-plugins.md
 */
export function defineSentences<const M extends Readonly<Record<string, string>>>(
  english: M,
): (code: keyof M & string, params?: Readonly<Record<string, string | number>>) => string {
  const render = createSentenceRenderer("en", english);
  return (code, params = {}) => render(code, params);
}
