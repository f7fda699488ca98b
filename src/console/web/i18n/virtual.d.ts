/** The catalogues, compiled by the build (.ci/console-messages.ts). */
declare module "virtual:console-messages" {
  type Messages = import("./translator.ts").Messages;
  type Loader = () => Promise<Messages>;

  /** What the first page, the frame and the log-in page use, in English. */
  export const firstEnglish: Messages;
  /** The same in the other languages. */
  export const loadFirst: Readonly<Partial<Record<string, Loader>>>;
  /** Whole catalogues. */
  export const loadAll: Readonly<Partial<Record<string, Loader>>>;
}

/** Messages whose key begins with `inbox.`, by language, not compiled. */
declare module "virtual:inbox-messages" {
  const messages: Readonly<Record<string, Readonly<Record<string, string>>>>;
  export default messages;
}
