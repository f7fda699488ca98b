const two = (value: number): string => String(value).padStart(2, "0");

/** An ISO moment as `2026-11-21T08:30` in the browser's zone, as date and time fields take it; "" for none. */
export function toDateTimeInput(iso: string | null | undefined): string {
  if (!iso) return "";
  const at = new Date(iso);
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Inverse of `toDateTimeInput`; null for "" and for invalid input. */
export function fromDateTimeInput(text: string): string | null {
  const at = new Date(text);
  return text === "" || Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** The last whole day before an end, `2026-11-21` in the browser's zone; "" for no end. */
export function lastDayOf(iso: string | null | undefined): string {
  return iso ? toDateTimeInput(new Date(Date.parse(iso) - 1).toISOString()).slice(0, 10) : "";
}

/** The moment at which a day begins in the browser's zone; null for "". */
export function startOfDay(day: string): string | null {
  const at = new Date(`${day}T00:00`);
  return day === "" || Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** The moment at which a day has passed in the browser's zone; null for "". */
export function endOfDay(day: string): string | null {
  const at = new Date(`${day}T00:00`);
  if (day === "" || Number.isNaN(at.getTime())) return null;
  at.setDate(at.getDate() + 1);
  return at.toISOString();
}
