import type { Pdu } from "smpp";

/** What a provider says of one part. */
export interface Receipt {
  /** The provider's name of the part. */
  name: string;
  /** Null while it is still on its way. */
  arrived: boolean | null;
  /** The provider's word for the state. */
  state: string;
}

/** Waits for the receipts of messages; a message has arrived when all of its parts have. */
export interface Receipts {
  /** `id` names the message, `names` are the provider's of its parts. */
  await(id: number, names: readonly string[]): void;
  take(receipt: Receipt): void;
  forget(ids: readonly number[]): void;
}

/** Receipts that came before the answer to what they are about; more are not kept. */
const MOST_EARLY = 1_000;

/** States by number. @source SMPP 3.4 §5.2.28, message_state */
const STATES = ["", "ENROUTE", "DELIVRD", "EXPIRED", "DELETED", "UNDELIV", "ACCEPTD", "UNKNOWN", "REJECTD"];
const ARRIVED = "DELIVRD";
const LOST = new Set(["EXPIRED", "DELETED", "UNDELIV", "REJECTD"]);

/** Reads a receipt by its parameters or else by its text. @source SMPP 3.4 §5.3.2.12, §5.3.2.35, appendix B */
export function readReceipt(pdu: Pick<Pdu, "receipted_message_id" | "message_state">, text: string): Receipt {
  const said = (key: string): string => new RegExp(`\\b${key}:(\\S+)`, "i").exec(text)?.[1] ?? "";
  const state = (STATES[pdu.message_state ?? 0] || said("stat")).toUpperCase();
  const arrived = state === ARRIVED ? true : LOST.has(state) ? false : null;
  return { name: pdu.receipted_message_id ?? said("id"), arrived, state };
}

/** Makes the waiting room; `onReceipt` is told once of each message, with words for what went wrong. */
export function createReceipts(onReceipt: (id: number, fault: string | null) => void): Receipts {
  const waiting = new Map<string, { id: number; parts: Set<string> }>();
  const early = new Map<string, Receipt>();

  const forget = (ids: readonly number[]): void => {
    const gone = new Set(ids);
    for (const [name, { id }] of waiting) if (gone.has(id)) waiting.delete(name);
  };

  const take = (receipt: Receipt): void => {
    const { name, arrived, state } = receipt;
    if (arrived === null) return;
    const message = waiting.get(name);
    if (!message) {
      // Some providers are faster with the receipt than with their answer.
      if (early.size < MOST_EARLY) early.set(name, receipt);
      return;
    }
    waiting.delete(name);
    message.parts.delete(name);
    if (arrived && message.parts.size > 0) return;
    forget([message.id]);
    onReceipt(message.id, arrived ? null : `the provider could not deliver it (${state})`);
  };

  return {
    await(id, names) {
      const message = { id, parts: new Set(names) };
      for (const name of names) waiting.set(name, message);
      for (const name of names) {
        const receipt = early.get(name);
        early.delete(name);
        if (receipt) take(receipt);
      }
    },
    take,
    forget,
  };
}
