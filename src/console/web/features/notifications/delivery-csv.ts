import { escapeCsvFormula } from "../../../../lib/csv-formula.ts";
import type { DeliveryRow, RollCall } from "../../api/rows.ts";
import type { Translator } from "../../i18n/translator.ts";

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
  "matchPValue",
  "matchDelayMs",
  "matchLevelDb",
] as const satisfies readonly (keyof DeliveryRow)[];

/** The ledger as CSV (RFC 4180) with a head line; times are ISO in UTC. */
export function deliveryCsv(rows: readonly DeliveryRow[], say: Translator["say"]): string {
  return table(
    COLUMNS,
    rows.map(({ reasonSentence, ...row }) => {
      const said = { ...row, reason: row.reason && say(row.reason, reasonSentence) };
      return COLUMNS.map((column) => said[column]);
    }),
  );
}

const CALLED = ["site", "building", "floor", "room", "name", "answer", "answeredAt"] as const;

/** A roll call as CSV, a line per person. */
export function rollCallCsv({ rooms }: RollCall): string {
  return table(
    CALLED,
    rooms.flatMap(({ room, people }) => {
      const place = [room?.siteName, room?.buildingName, room?.floorName, room?.name].map((name) => name ?? null);
      return people.map(({ name, answer, answeredAt }) => [...place, name, answer, answeredAt]);
    }),
  );
}

function table(heads: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return `${[heads.join(","), ...rows.map((row) => row.map(cell).join(","))].join("\r\n")}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  const text = typeof value === "string" ? escapeCsvFormula(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
