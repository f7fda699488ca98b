/** What asks for a `{{name}}` place of a message. */
interface Asking {
  variable: string;
  name: string;
}

/** A message's words with what is still open in brackets: the question's name where one asks for it, else the place's own. */
export function withPlaceholders(text: string, questions: readonly Asking[] = []): string {
  return text.replace(/\{\{\s*([^{}]+?)\s*\}\}/g, (_, variable: string) => {
    const asking = questions.find((question) => question.variable === variable);
    return `[${asking?.name ?? variable.replaceAll("_", " ")}]`;
  });
}
