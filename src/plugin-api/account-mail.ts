/**
 * A mail about somebody's account, such as a link to set a new password. It is no notification: it is stored nowhere,
 * because its reader could log in as its recipient.
 */
export interface AccountMail {
  /** One plain address. */
  to: string;
  /** Name of the recipient. */
  name: string;
  subject: string;
  /** Plain text; paragraphs are separated by an empty line. */
  text: string;
  language: "en" | "de";
}

/** Hands the mail to a mail server; resolves with the reason why none took it, as text for people, or with null. */
export type AccountMailHandler = (mail: AccountMail) => Promise<string | null>;
