import type { ZoneDataOptions } from "../time-zones/zone-data.ts";
import type { DateSpan } from "./date-span.ts";
import type { ParsedHolidays } from "./holidays.ts";

/** A calendar to read in the worker thread. */
export interface CalendarRequest {
  text: string;
  span: DateSpan;
  /** Zone of the schedule. */
  timeZone: string;
  zoneFolders: ZoneDataOptions;
  /** Revision of the time zone data: the thread opens them again when it changes. */
  revision: number;
}

/** `invalid`: why the text is no calendar. `bug`: an unexpected error, for the log. */
export type CalendarResponse = { parsed: ParsedHolidays } | { invalid: string } | { bug: string };
