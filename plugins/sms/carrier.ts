import type { Clock, Handed, TextMessage } from "#plugin-api";

/** A way for text messages out, and perhaps back in. */
export interface Carrier {
  /** Hands one over; never rejects. `id` is the same when it is handed over again; null for one that wants no receipt. */
  send(to: string, text: string, id: number | null): Promise<Handed>;
  /** Nobody waits for the receipts of these any more. */
  forget(ids: readonly number[]): void;
}

/** What every carrier needs. */
export interface CarrierNeeds {
  clock: Clock;
  signal: AbortSignal;
  /** Number or name that messages come from; null leaves it to the provider. */
  sender: string | null;
  /** A handset has it, or will never have it, in words. */
  onReceipt(id: number, fault: string | null): void;
  /** A text message from a person. */
  onMessage(message: TextMessage): void;
  /** The way out stands, or why it does not. */
  onState(state: Handed): void;
}
