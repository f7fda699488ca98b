const INSTANT = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?:Z|([+-]\d{2})(?::?(\d{2}))?)$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Epoch ms of an ISO 8601 date and time with a zone: `Z`, `+02:00`, `+0200` or `+02`; null if it is malformed or its date
 * does not exist.
 */
export function parseTimestamp(text: string): number | null {
  const match = INSTANT.exec(text);
  if (!match || !isDate(match[1] as string)) return null;
  const [, day, time, hours, minutes = "00"] = match;
  const at = Date.parse(`${day}T${time}${hours === undefined ? "Z" : `${hours}:${minutes}`}`);
  return Number.isFinite(at) ? at : null;
}

/**
 * Epoch ms of a timestamp in a query: as `parseTimestamp`, or a date, which means its start in UTC. A + that was not
 * encoded arrives as a blank.
 */
export function parseQueryTimestamp(text: string): number | null {
  return isDate(text) ? Date.parse(text) : parseTimestamp(text.replace(/ (?=\d{2}(:?\d{2})?$)/, "+"));
}

/** Whether the text is an existing date `YYYY-MM-DD` since the year 1. */
export function isDate(text: string): boolean {
  if (!DAY.test(text) || text < "0001-01-01") return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text);
}
