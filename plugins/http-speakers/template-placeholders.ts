/** The kinds of text that a value can stand in, each with its own way of escaping. */
export type Escaping = "path" | "header" | "json" | "form" | "xml" | "text";

/** Values by the names of their places. */
export type PlaceholderValues = (name: string) => string | null;

const PLACEHOLDER = /\{\{\s*([\w.-]{1,80})\s*\}\}/g;
const XML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

const ESCAPE_FUNCTIONS: Readonly<Record<Escaping, (text: string) => string>> = {
  path: encodeURIComponent,
  form: encodeURIComponent,
  // What ends a line would begin a header of its own.
  header: (text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, " "),
  json: (text) => JSON.stringify(text).slice(1, -1),
  xml: (text) => text.replace(/(?![\t\n\r])\p{Cc}/gu, "").replace(/[&<>"']/g, (character) => XML[character] ?? ""),
  text: (text) => text,
};

/** The template with its places filled, each value escaped as it needs to be there; what is not known is empty. */
export function fillTemplate(template: string, values: PlaceholderValues, surroundings: Escaping): string {
  return template.replace(PLACEHOLDER, (_, name: string) =>
    ESCAPE_FUNCTIONS[surroundings](wellFormed(values(name) ?? "")),
  );
}

/** The names of the places in a template. */
export function placeholdersIn(template: string): string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, name]) => name ?? "");
}

/** Halves of characters can't be written into an address. */
function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, "\ufffd");
}
