/** Spreadsheets run a cell that begins with one of these characters as a formula. @source OWASP, CSV Injection */
const FORMULA_PREFIX = /^[=+\-@\t\r]/;

/** Escapes a cell of a CSV file: one that a spreadsheet would run as a formula gets a leading apostrophe. */
export function escapeCsvFormula(text: string): string {
  return FORMULA_PREFIX.test(text) ? `'${text}` : text;
}

/** Reverses `escapeCsvFormula`. */
export function unescapeCsvFormula(text: string): string {
  return text.startsWith("'") && FORMULA_PREFIX.test(text.slice(1)) ? text.slice(1) : text;
}
