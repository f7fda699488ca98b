import type { Pdu } from "smpp";
import type { Clock } from "#plugin-api";

/** What a provider says of one part. */
export interface DeliveryReceipt {
  /** The provider's name of the part. */
  name: string;
  /** Null while it is still on its way. */
  arrived: boolean | null;
  /** The provider's word for the state. */
  state: string;
}

/** Waits for the receipts of messages; a message has arrived when all of its parts have. */
export interface ReceiptTracker {
  /** `id` names the message, `names` are the provider's of its parts. */
  expect(id: number, names: readonly string[]): void;
  handle(receipt: DeliveryReceipt): void;
}

/** Receipts that came before the answer to what they are about; more are not kept. */
const MAX_EARLY_RECEIPTS = 1_000;
/** Parts that are waited for, the newest, and how long: providers try for three days at most. own choice */
const MAX_PENDING = 50_000;
const RETENTION_MS = 4 * 86_400_000;

/** States by number. @source SMPP 3.4 §5.2.28, message_state */
const STATES = ["", "ENROUTE", "DELIVRD", "EXPIRED", "DELETED", "UNDELIV", "ACCEPTD", "UNKNOWN", "REJECTD"];
const ARRIVED = "DELIVRD";
const LOST = new Set(["EXPIRED", "DELETED", "UNDELIV", "REJECTD"]);

/** Reads a receipt by its parameters or else by its text. @source SMPP 3.4 §5.3.2.12, §5.3.2.35, appendix B */
export function parseDeliveryReceipt(
  pdu: Pick<Pdu, "receipted_message_id" | "message_state">,
  text: string,
): DeliveryReceipt {
  const said = (key: string): string => new RegExp(`\\b${key}:(\\S+)`, "i").exec(text)?.[1] ?? "";
  const state = (STATES[pdu.message_state ?? 0] || said("stat")).toUpperCase();
  const arrived = state === ARRIVED ? true : LOST.has(state) ? false : null;
  return { name: pdu.receipted_message_id ?? said("id"), arrived, state };
}

/** In words why a message did not arrive; null for one that did. */
export function receiptFailure({ arrived, state }: DeliveryReceipt): string | null {
  return arrived ? null : `the provider could not deliver it (${state.slice(0, 40)})`;
}

/** Makes the waiting room; `onReceipt` is told once of each message, with words for what went wrong. */
export function createReceiptTracker(
  clock: Pick<Clock, "monotonicMs">,
  onReceipt: (id: number, fault: string | null) => void,
): ReceiptTracker {
  const waiting = new Map<string, { id: number; parts: Set<string>; since: number }>();
  const early = new Map<string, DeliveryReceipt>();

  const dropOldest = (now: number): void => {
    for (const [name, { since }] of waiting) {
      if (waiting.size <= MAX_PENDING && now - since <= RETENTION_MS) break;
      waiting.delete(name);
    }
  };

  /** Of the two ways to write a number, some providers use one in their answers and the other in their receipts. */
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
      // Some providers are faster with the receipt than with their answer.
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
