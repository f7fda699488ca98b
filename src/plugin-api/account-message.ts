/**
 * A message to somebody that is no notification, such as a link to set a new password or a code that proves an address. It is
 * stored nowhere, because its reader could act as its recipient.
 */
export interface AccountMessage {
  /** Address or number, as in the device identifiers of the plugin. */
  to: string;
  /** Name of the recipient. */
  name: string;
  /** Channels without subjects leave it out. */
  subject: string;
  /** Plain text; paragraphs are separated by an empty line. */
  text: string;
  language: "en" | "de";
}

/** Hands the message to a server; resolves with the reason why none took it, as text for people, or with null. */
export type AccountMessageHandler = (message: AccountMessage) => Promise<string | null>;
