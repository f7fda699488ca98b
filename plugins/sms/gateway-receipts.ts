import type { DeliveryReceipt } from "./delivery-receipts.ts";

/** Format of a gateway's receipts. */
export interface ReceiptFormat {
  /** Member with the message id. */
  id: string;
  /** Member with the state. */
  state: string;
  /** States of delivered and of failed messages, separated by commas, case-insensitive. */
  arrived: string;
  lost: string;
}

/** Parses a receipt from request values; null if a member is missing. Any other state means in transit. */
export function parseGatewayReceipt(
  values: Readonly<Record<string, string>>,
  format: ReceiptFormat,
): DeliveryReceipt | null {
  const name = values[format.id];
  const state = values[format.state];
  if (!name || !state) return null;
  const isOneOf = (states: string): boolean => states.split(",").some((each) => isSame(each, state));
  return { name, state, arrived: isOneOf(format.arrived) ? true : isOneOf(format.lost) ? false : null };
}

function isSame(given: string, state: string): boolean {
  return given.trim().toLowerCase() === state.trim().toLowerCase();
}

/** String or number at a path (`messages.0.id`) of a JSON text; empty if missing. */
export function jsonValueAt(json: string, path: string): string {
  try {
    let value: unknown = JSON.parse(json);
    for (const name of path.split(".")) value = Object(value)[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  } catch {
    return "";
  }
}
