/** What asks for a `{{name}}` place of a message. */
interface Asking {
  variable: string;
  name: string;
}

/** A text with open placeholders in brackets: the name of the question, or of the variable. */
export function withPlaceholders(text: string, questions: readonly Asking[] = []): string {
  return text.replace(/\{\{\s*([^{}]+?)\s*\}\}/g, (_, variable: string) => {
    const asking = questions.find((question) => question.variable === variable);
    return `[${asking?.name ?? variable.replaceAll("_", " ")}]`;
  });
}
