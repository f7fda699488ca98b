import { isUuid } from "../lib/ids.ts";
import type { RingListEntry } from "../resources/bells/bell-fields.ts";
import { formatSecondOfDay, parseSecondOfDay, secondOfDay } from "./local-time.ts";

/** A change of a ring list on some days: moves all rings or one, or mutes some. Times are seconds of the day. */
export type RingListChange =
  | { kind: "delay" | "earlier"; minutes: number }
  | { kind: "end"; second: number }
  | { kind: "move"; entryId: string; second: number }
  | { kind: "mute"; from: number; to: number };

const DAY_S = 86_400;

/** Parses `delay 60`, `earlier 30`, `end 12:30:00`, `mute 08:00:00 11:00:00` or `move <entry id> 08:05:00`; null if invalid. */
export function parseRingListChange(text: string): RingListChange | null {
  const [kind, first = "", second, ...rest] = text.trim().split(/\s+/);
  if (rest.length > 0) return null;
  if (kind === "delay" || kind === "earlier") {
    const minutes = /^\d{1,4}$/.test(first) ? Number(first) : 0;
    return second === undefined && minutes >= 1 && minutes < 1_440 ? { kind, minutes } : null;
  }
  if (kind === "move") {
    const moved = parseSecondOfDay(second ?? "");
    return isUuid(first) && moved !== null ? { kind, entryId: first.toLowerCase(), second: moved } : null;
  }
  const from = parseSecondOfDay(first);
  if (kind === "end") return from !== null && second === undefined ? { kind, second: from } : null;
  const to = second === "24:00:00" ? DAY_S : parseSecondOfDay(second ?? "");
  return kind === "mute" && from !== null && to !== null && from < to ? { kind, from, to } : null;
}

/** The canonical text of a change. */
export function formatRingListChange(change: RingListChange): string {
  if (change.kind === "mute")
    return `mute ${formatSecondOfDay(change.from)} ${change.to === DAY_S ? "24:00:00" : formatSecondOfDay(change.to)}`;
  if (change.kind === "move") return `move ${change.entryId} ${formatSecondOfDay(change.second)}`;
  return change.kind === "end" ? `end ${formatSecondOfDay(change.second)}` : `${change.kind} ${change.minutes}`;
}

/**
 * Applies changes to the rings of a day, each to the result of the one before; entries keep their ids. `end`: moves the last
 * ring of the day to that time and drops rings after it; `mute`: drops rings from the first time (included) to the second (not
 * included). A ring that would move to another date is dropped.
 */
export function applyRingListChanges(entries: readonly RingListEntry[], changes: readonly string[]): RingListEntry[] {
  let rings = entries.map((entry) => ({ entry, second: secondOfDay(entry.time) }));
  for (const change of changes.map(parseRingListChange)) {
    if (!change) continue;
    const last = Math.max(...rings.map(({ second }) => second));
    rings = rings.flatMap(({ entry, second }) => {
      const moved = changedSecond({ id: entry.id, second }, change, last);
      return moved === null ? [] : [{ entry, second: moved }];
    });
  }
  return rings.map(({ entry, second }) => ({ ...entry, time: formatSecondOfDay(second) }));
}

/** The new second of the day of a ring, `last` being the last ring of the day; null if the ring is dropped. */
function changedSecond(
  { id, second }: { id: string; second: number },
  change: RingListChange,
  last: number,
): number | null {
  if (change.kind === "move") return id === change.entryId ? change.second : second;
  if (change.kind === "end") return second <= change.second ? second : second === last ? change.second : null;
  if (change.kind === "mute") return second >= change.from && second < change.to ? null : second;
  const moved = second + (change.kind === "delay" ? 60 : -60) * change.minutes;
  return moved >= 0 && moved < DAY_S ? moved : null;
}
