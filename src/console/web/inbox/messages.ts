import messages from "virtual:inbox-messages";
import { bestLanguage, type Language } from "../i18n/languages.ts";
import type { MessageKey } from "../i18n/message-keys.ts";

/** Keys of the recipients' page: those of the catalogue below `inbox.`. */
export type InboxMessageKey = MessageKey extends infer Key ? (Key extends `inbox.${infer Rest}` ? Rest : never) : never;

/** Messages in the browser's language. */
export interface InboxMessages {
  language: Language;
  t(key: InboxMessageKey, values?: Readonly<Record<string, string>>): string;
  /** A time (ISO 8601 or epoch ms) as date and time of day. */
  at(time: string | number): string;
}

/** Chooses among the languages that a browser asks for. Its messages have no plurals, so it needs no library. */
export function inboxMessages(languages: readonly string[]): InboxMessages {
  const language = bestLanguage(languages);
  const catalogue = messages[language] ?? {};
  const form = new Intl.DateTimeFormat(languages[0] ?? language, { dateStyle: "medium", timeStyle: "short" });
  return {
    language,
    t: (key, values = {}) =>
      (catalogue[`inbox.${key}`] ?? key).replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place),
    at: (time) => form.format(new Date(time)),
  };
}
