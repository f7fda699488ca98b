/** An inbound text message. */
export interface TextMessage {
  from: string;
  text: string;
}

/** Result of an inbound text message, for the channel to phrase. */
export type TextReply =
  /** A response to a notification; `told` is the reply text of its owner. */
  | { kind: "answered"; option: string; told?: string }
  /** The sender joined a list; a welcome is sent as its own message. */
  | { kind: "joined"; list: string }
  /** The list accepts no new members; `text` is its owner's text for that case. */
  | { kind: "inactive"; list: string; text: string | null }
  | { kind: "left"; lists: readonly string[] }
  /** All text messages to this number are stopped. */
  | { kind: "stopped" }
  | { kind: "started" }
  /** The sender asked for help. */
  | { kind: "help" }
  | { kind: "refused"; why: "too-late" | "too-many" }
  /** Not understood. */
  | { kind: "unknown" };
