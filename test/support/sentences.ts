import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";

/** A placeholder of a message; `isCount`: its value is a number that plural forms depend on. */
export interface MessagePlaceholder {
  name: string;
  isCount: boolean;
}

/** The placeholders of an ICU message. */
export function placeholdersOf(message: string): MessagePlaceholder[] {
  const found = new Map<string, boolean>();
  const visit = (tokens: unknown): void => {
    for (const token of Array.isArray(tokens) ? tokens : []) {
      if (!Array.isArray(token)) continue;
      const [name, type, forms] = token as [string, string | undefined, Record<string, unknown> | undefined];
      found.set(name, (found.get(name) ?? false) || type === "plural");
      for (const form of Object.values(forms ?? {})) visit(form);
    }
  };
  visit(compileMessageOrThrow(message));
  return [...found].map(([name, isCount]) => ({ name, isCount }));
}
