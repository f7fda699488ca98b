import type { Clock, SendResult, TextMessage } from "#plugin-api";
import type { DeliveryReceipt } from "./delivery-receipts.ts";

/** Transport of text messages, possibly in both directions. */
export interface SmsTransport {
  /** Sends one message; never rejects. `id` is the same for a repeated send; null if no receipt is wanted. */
  send(to: string, text: string, id: number | null): Promise<SendResult>;
  /** Handles a receipt that arrived outside the transport's own connection; `delivery` if it refers to a delivery. */
  handleReceipt(receipt: DeliveryReceipt, delivery: number | null): void;
}

export interface SmsTransportDeps {
  clock: Clock;
  signal: AbortSignal;
  /** Sender number or name; null leaves it to the provider. */
  sender: string | null;
  /** The message was delivered, or failed permanently with this reason; called at any time. */
  onReceipt(id: number, error: string | null): void;
  /** Inbound message; resolves with false if it could not be stored. */
  onMessage(message: TextMessage): Promise<boolean>;
  /** Connection state of the transport. */
  onState(state: SendResult): void;
}
