import type { DeliveryReceipt } from "./delivery-receipts.ts";

/** How a gateway writes its receipts. */
export interface ReceiptFormat {
  /** Member that names the message. */
  id: string;
  /** Member that holds its state. */
  state: string;
  /** Words for "the handset has it" and "it never will", separated by commas, in any case. */
  arrived: string;
  lost: string;
}

/** Reads a receipt from a request's values; null when it lacks a member. A state that is neither is one on the way. */
export function parseGatewayReceipt(
  values: Readonly<Record<string, string>>,
  form: ReceiptFormat,
): DeliveryReceipt | null {
  const name = values[form.id];
  const state = values[form.state];
  if (!name || !state) return null;
  const isOneOf = (words: string): boolean => words.split(",").some((word) => isSame(word, state));
  return { name, state, arrived: isOneOf(form.arrived) ? true : isOneOf(form.lost) ? false : null };
}

function isSame(word: string, state: string): boolean {
  return word.trim().toLowerCase() === state.trim().toLowerCase();
}

/** The text or number at a path (`messages.0.id`) of a JSON text; empty when there is none. */
export function jsonValueAt(json: string, path: string): string {
  try {
    let value: unknown = JSON.parse(json);
    for (const name of path.split(".")) value = Object(value)[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  } catch {
    return "";
  }
}
