/** The kinds of text that a value can stand in, each with its own way of escaping. */
export type Surroundings = "path" | "header" | "json" | "form" | "xml" | "text";

/** Values by the names of their places. */
export type Values = (name: string) => string | null;

const PLACE = /\{\{\s*([\w.-]{1,80})\s*\}\}/g;
const XML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

const ESCAPE: Readonly<Record<Surroundings, (text: string) => string>> = {
  path: encodeURIComponent,
  form: encodeURIComponent,
  // What ends a line would begin a header of its own.
  header: (text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, " "),
  json: (text) => JSON.stringify(text).slice(1, -1),
  xml: (text) => text.replace(/(?![\t\n\r])\p{Cc}/gu, "").replace(/[&<>"']/g, (character) => XML[character] ?? ""),
  text: (text) => text,
};

/** The template with its places filled, each value escaped as it needs to be there; what is not known is empty. */
export function fill(template: string, values: Values, surroundings: Surroundings): string {
  return template.replace(PLACE, (_, name: string) => ESCAPE[surroundings](wellFormed(values(name) ?? "")));
}

/** The names of the places in a template. */
export function placesIn(template: string): string[] {
  return [...template.matchAll(PLACE)].map(([, name]) => name ?? "");
}

/** Halves of characters can't be written into an address. */
function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, "\ufffd");
}
