import { withoutFormula } from "../../../base/table-text.ts";
import type { DeliveryRow } from "../api/rows.ts";

const COLUMNS = [
  "name",
  "deviceIdentifier",
  "type",
  "level",
  "reason",
  "attempt",
  "plannedAt",
  "sentAt",
  "acceptedAt",
  "playingAt",
  "endedAt",
] as const satisfies readonly (keyof DeliveryRow)[];

/** The ledger as CSV (RFC 4180) with a head line; times are ISO in UTC. */
export function deliveryCsv(rows: readonly DeliveryRow[]): string {
  const lines = rows.map((row) => COLUMNS.map((column) => cell(row[column])).join(","));
  return `${[COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  const text = typeof value === "string" ? withoutFormula(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
