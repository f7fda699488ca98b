/** Spreadsheets take a text that begins with one of these for a formula and would run it. own choice: the list of OWASP, CSV injection */
const FORMULA_PREFIX = /^[=+\-@\t\r]/;

/** A text as a cell of a table that people open in a spreadsheet: one that would be run there gets an apostrophe in front. */
export function escapeCsvFormula(text: string): string {
  return FORMULA_PREFIX.test(text) ? `'${text}` : text;
}

/** The way back of `withoutFormula`, for a table that was written by it. */
export function unescapeCsvFormula(text: string): string {
  return text.startsWith("'") && FORMULA_PREFIX.test(text.slice(1)) ? text.slice(1) : text;
}
