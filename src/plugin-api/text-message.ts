/** A text message from a person, as a channel got it. */
export interface TextMessage {
  /** The sender's number. */
  from: string;
  text: string;
}

/** What came of it, for the channel to answer in its own words. */
export type TextReply =
  /** An answer to what a message asked; `told` is what its owner wrote for that. */
  | { kind: "answered"; option: string; told?: string }
  /** The sender is on a list now; a welcome is a message of its own. */
  | { kind: "joined"; list: string }
  /** The list takes nobody any more; `text` is what its owner wrote for that. */
  | { kind: "inactive"; list: string; text: string | null }
  | { kind: "left"; lists: readonly string[] }
  /** No text messages for this number any more. */
  | { kind: "stopped" }
  | { kind: "started" }
  | { kind: "refused"; why: "too-late" | "too-many" }
  /** Nothing that the appliance knows. */
  | { kind: "unknown" };
