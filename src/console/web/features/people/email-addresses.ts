/** The distinct e-mail addresses in a text, whatever separates them. */
export function parseEmailAddresses(text: string): string[] {
  return [...new Set(text.match(/[^\s,;<>"]+@[^\s,;<>"]+/g) ?? [])];
}
