import type { Clock, SendResult, TextMessage } from "#plugin-api";
import type { DeliveryReceipt } from "./delivery-receipts.ts";

/** A way for text messages out, and perhaps back in. */
export interface SmsTransport {
  /** Hands one over; never rejects. `id` is the same when it is handed over again; null for one that wants no receipt. */
  send(to: string, text: string, id: number | null): Promise<SendResult>;
  /** Takes a receipt that did not come by the carrier's own connection. */
  handleReceipt(receipt: DeliveryReceipt): void;
}

/** What every carrier needs. */
export interface SmsTransportDeps {
  clock: Clock;
  signal: AbortSignal;
  /** Number or name that messages come from; null leaves it to the provider. */
  sender: string | null;
  /** A handset has it, or will never have it, in words; however late. */
  onReceipt(id: number, fault: string | null): void;
  /** A text message from a person; resolves once it is stored, with false where it could not be. */
  onMessage(message: TextMessage): Promise<boolean>;
  /** The way out stands, or why it does not. */
  onState(state: SendResult): void;
}
