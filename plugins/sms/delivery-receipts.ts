import type { Pdu } from "smpp";
import type { Clock } from "#plugin-api";

/** Delivery receipt of one segment. */
export interface DeliveryReceipt {
  /** The provider's message id of the segment. */
  name: string;
  /** Null while in transit. */
  arrived: boolean | null;
  /** The provider's state. */
  state: string;
}

/** Tracks receipts; a message is delivered when all its segments are. */
export interface ReceiptTracker {
  /** `id` identifies the message, `names` are the provider's ids of its segments. */
  expect(id: number, names: readonly string[]): void;
  handle(receipt: DeliveryReceipt): void;
}

/** Limit of receipts that arrive before the submit response. */
const MAX_EARLY_RECEIPTS = 1_000;
/** Limits of tracked segments: the newest, and for how long, since providers retry for at most three days. */
const MAX_PENDING = 50_000;
const RETENTION_MS = 4 * 86_400_000;

/** Names of numeric states. @source SMPP 3.4 §5.2.28, message_state */
const STATES = ["", "ENROUTE", "DELIVRD", "EXPIRED", "DELETED", "UNDELIV", "ACCEPTD", "UNKNOWN", "REJECTD"];
const ARRIVED = "DELIVRD";
const LOST = new Set(["EXPIRED", "DELETED", "UNDELIV", "REJECTD"]);

/** Parses a receipt from its parameters, or else from its text. @source SMPP 3.4 §5.3.2.12, §5.3.2.35, appendix B */
export function parseDeliveryReceipt(
  pdu: Pick<Pdu, "receipted_message_id" | "message_state">,
  text: string,
): DeliveryReceipt {
  const fieldOf = (key: string): string => new RegExp(`\\b${key}:(\\S+)`, "i").exec(text)?.[1] ?? "";
  const state = (STATES[pdu.message_state ?? 0] || fieldOf("stat")).toUpperCase();
  const arrived = state === ARRIVED ? true : LOST.has(state) ? false : null;
  return { name: pdu.receipted_message_id ?? fieldOf("id"), arrived, state };
}

/** Reason of a failed delivery; null if delivered. */
export function receiptFailure({ arrived, state }: DeliveryReceipt): string | null {
  return arrived ? null : `delivery failed at the provider (${state.slice(0, 40)})`;
}

/** Creates a tracker; `onReceipt` is called once per message, with the reason of a failure. */
export function createReceiptTracker(
  clock: Pick<Clock, "monotonicMs">,
  onReceipt: (id: number, error: string | null) => void,
): ReceiptTracker {
  const waiting = new Map<string, { id: number; parts: Set<string>; since: number }>();
  const early = new Map<string, DeliveryReceipt>();

  const dropOldest = (now: number): void => {
    for (const [name, { since }] of waiting) {
      if (waiting.size <= MAX_PENDING && now - since <= RETENTION_MS) break;
      waiting.delete(name);
    }
  };

  /** Some providers use decimal ids in responses and hexadecimal ids in receipts, or vice versa. */
  const pendingName = (name: string): string => {
    if (waiting.has(name) || !/^\d{1,20}$/.test(name)) return name;
    const hex = BigInt(name).toString(16);
    return [hex, hex.toUpperCase()].find((each) => waiting.has(each)) ?? name;
  };

  const handle = (receipt: DeliveryReceipt): void => {
    const { arrived } = receipt;
    if (arrived === null || receipt.name === "") return;
    const name = pendingName(receipt.name);
    const message = waiting.get(name);
    if (!message) {
      // Some providers send the receipt before the submit response.
      if (early.size < MAX_EARLY_RECEIPTS) early.set(name, receipt);
      return;
    }
    waiting.delete(name);
    message.parts.delete(name);
    if (arrived && message.parts.size > 0) return;
    for (const part of message.parts) waiting.delete(part);
    onReceipt(message.id, receiptFailure(receipt));
  };

  return {
    expect(id, names) {
      const since = clock.monotonicMs();
      const message = { id, parts: new Set(names), since };
      for (const name of names) waiting.set(name, message);
      dropOldest(since);
      for (const name of names) {
        const receipt = early.get(name);
        early.delete(name);
        if (receipt) handle(receipt);
      }
    },
    handle,
  };
}
