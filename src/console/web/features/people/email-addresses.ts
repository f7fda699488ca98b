/** The e-mail addresses in a text, whatever stands between them; each once. */
export function parseEmailAddresses(text: string): string[] {
  return [...new Set(text.match(/[^\s,;<>"]+@[^\s,;<>"]+/g) ?? [])];
}
