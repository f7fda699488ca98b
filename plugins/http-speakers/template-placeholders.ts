/** Contexts of a placeholder, each with its own escaping. */
export type Escaping = "path" | "header" | "json" | "form" | "xml" | "text";

/** Values by placeholder name. */
export type PlaceholderValues = (name: string) => string | null;

const PLACEHOLDER = /\{\{\s*([\w.-]{1,80})\s*\}\}/g;
const XML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

const ESCAPE_FUNCTIONS: Readonly<Record<Escaping, (text: string) => string>> = {
  path: encodeURIComponent,
  form: encodeURIComponent,
  // A line break would start another header.
  header: (text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, " "),
  json: (text) => JSON.stringify(text).slice(1, -1),
  xml: (text) => text.replace(/(?![\t\n\r])\p{Cc}/gu, "").replace(/[&<>"']/g, (character) => XML[character] ?? ""),
  text: (text) => text,
};

/** Fills the placeholders of a template, escaped for the context; unknown values are empty. */
export function fillTemplate(template: string, values: PlaceholderValues, escaping: Escaping): string {
  return template.replace(PLACEHOLDER, (_, name: string) => ESCAPE_FUNCTIONS[escaping](wellFormed(values(name) ?? "")));
}

/** Names of the placeholders in a template. */
export function placeholdersIn(template: string): string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, name]) => name ?? "");
}

/** Unpaired surrogates cannot be percent-encoded. */
function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, "\ufffd");
}
