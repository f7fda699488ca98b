import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Resolves a name to the id of a row. Throws CallerError. */
type IdOf = (family: string, name: string) => string;

/** Short forms of the items of a column, as an alternative to JSON. Throws CallerError for invalid text. */
export type CellShorthand = Readonly<Record<string, (item: string, idOf: IdOf) => readonly object[]>>;

/**
 * Short forms of ring lists and schedules in tables, by type of upload: `07:45=Bell -> Gym, Hall`, `0-4=Normal day`,
 * `2031-12-22..2032-01-02=` (no bells) and `2031-10-03=Short day`. @source docs/decisions/0540-importers.md, Bulk uploads
 */
export const BELL_SHORTHAND: Readonly<Record<string, CellShorthand>> = {
  "ring-lists": { entries: parseRings },
  "bell-schedules": { bellScheduleEntries: parseDays, bellScheduleExceptions: parseExceptions },
};

function parseRings(item: string, idOf: IdOf): readonly object[] {
  const [time, whole] = splitPair(item, "entries", "07:45=Bell");
  const [message = "", groups = ""] = whole.split(" -> ");
  const names = groups.split(",").flatMap((name) => name.trim() || []);
  const deviceGroupIds = names.map((name) => idOf("device-groups", name));
  return [{ time, messageTemplateId: idOf("message-templates", message.trim()), deviceGroupIds }];
}

function parseDays(item: string, idOf: IdOf): readonly object[] {
  const [days, name] = splitPair(item, "bellScheduleEntries", "0-4=Normal day");
  const [, first, last] = /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(days) ?? [];
  if (first === undefined) throw unreadableItem("bellScheduleEntries", "0-4=Normal day");
  const count = Math.max(0, Number(last ?? first) - Number(first) + 1);
  const ringListId = ringListIdOf(name, idOf);
  return Array.from({ length: count }, (_, at) => ({ entryNum: Number(first) + at, ringListId }));
}

function parseExceptions(item: string, idOf: IdOf): readonly object[] {
  const [days, name] = splitPair(item, "bellScheduleExceptions", "2031-12-22..2032-01-02=");
  const [startDate = "", endDate = startDate] = days.split("..").map((day) => day.trim());
  return [{ startDate, endDate, ringListId: ringListIdOf(name, idOf) }];
}

function ringListIdOf(name: string, idOf: IdOf): string | null {
  return name === "" ? null : idOf("ring-lists", name);
}

function splitPair(item: string, field: string, example: string): [before: string, after: string] {
  const at = item.indexOf("=");
  if (at < 1) throw unreadableItem(field, example);
  return [item.slice(0, at).trim(), item.slice(at + 1).trim()];
}

function unreadableItem(field: string, example: string) {
  return invalidValue(field, sentence("field.items-must-be-json-or-have-the-form-example", { example }));
}
