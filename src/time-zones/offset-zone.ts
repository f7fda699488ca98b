import { IANAZone, Zone } from "luxon";
import { DAY_MS } from "../lib/durations.ts";
import { ruleChanges } from "./posix-rule.ts";
import type { TzifContent } from "./tzif.ts";

/** `offsets[i]` ms ahead of UTC applies from the instant `starts[i]` (epoch ms); the first one applies before it, too. */
export interface OffsetTable {
  starts: number[];
  offsets: number[];
}

/** A zone of luxon that knows its transitions. */
export interface OffsetZone extends Zone {
  /** The offset at `fromMs` and every change of it up to `toMs`, both epoch ms. */
  transitions(fromMs: number, toMs: number): OffsetTable;
}

/** A luxon zone from the content of a TZif file. */
export class TzifZone extends Zone implements OffsetZone {
  readonly #name: string;
  readonly #content: TzifContent;
  /** Year of the last transition of the file. */
  readonly #lastYear: number;
  /** Changes by the rule of the footer, by year. */
  readonly #ruleYears = new Map<number, { at: number; offset: number }[]>();

  constructor(name: string, content: TzifContent) {
    super();
    this.#name = name;
    this.#content = content;
    this.#lastYear = yearOf(content.instants.at(-1) ?? Number.NEGATIVE_INFINITY);
  }

  override get type(): string {
    return "tzif";
  }

  override get name(): string {
    return this.#name;
  }

  override get isUniversal(): boolean {
    const { instants, rule } = this.#content;
    return instants.length === 0 && !rule?.daylight;
  }

  override get isValid(): boolean {
    return true;
  }

  /** Minutes ahead of UTC. */
  override offset(ms: number): number {
    return this.#offsetAt(Math.floor(ms / 1_000)) / 60;
  }

  /** The abbreviation of the file, such as PST; by the footer the offset, since its names are not kept. */
  override offsetName(ms: number): string {
    const { instants, abbreviations, firstAbbreviation, rule } = this.#content;
    const index = lastAtOrBefore(instants, Math.floor(ms / 1_000));
    if (index === instants.length - 1 && rule?.daylight) return this.formatOffset(ms, "short");
    return index < 0 ? firstAbbreviation : (abbreviations[index] ?? "");
  }

  override formatOffset(ms: number, format: "narrow" | "short" | "techie"): string {
    return formatOffsetMinutes(this.offset(ms), format);
  }

  override equals(other: Zone): boolean {
    return other instanceof TzifZone && other.#content === this.#content;
  }

  transitions(fromMs: number, toMs: number): OffsetTable {
    const { instants, offsets, rule } = this.#content;
    const table: OffsetTable = { starts: [fromMs], offsets: [this.#offsetAt(Math.floor(fromMs / 1_000)) * 1_000] };
    const add = (at: number, offset: number): void => {
      if (at * 1_000 <= fromMs || at * 1_000 > toMs) return;
      // Of two changes at one instant the last one counts.
      if (table.starts.at(-1) === at * 1_000) {
        table.starts.pop();
        table.offsets.pop();
      }
      if (table.offsets.at(-1) === offset * 1_000) return;
      table.starts.push(at * 1_000);
      table.offsets.push(offset * 1_000);
    };
    const first = lastAtOrBefore(instants, Math.floor(fromMs / 1_000)) + 1;
    for (let index = first; index < instants.length && (instants[index] ?? 0) * 1_000 <= toMs; index++)
      add(instants[index] ?? 0, offsets[index] ?? 0);
    if (!rule) return table;
    const last = instants.at(-1) ?? Number.NEGATIVE_INFINITY;
    const [firstYear, lastYear] = [yearOf(Math.max(last, fromMs / 1_000)), yearOf(toMs / 1_000)];
    for (const { at, offset } of ruleChanges(rule, firstYear - 1, lastYear + 1)) if (at > last) add(at, offset);
    return table;
  }

  #offsetAt(second: number): number {
    const { instants, offsets, firstOffset, rule } = this.#content;
    const index = lastAtOrBefore(instants, second);
    if (index < instants.length - 1) return index < 0 ? firstOffset : (offsets[index] ?? firstOffset);
    const last = instants[index] ?? Number.NEGATIVE_INFINITY;
    const lastOffset = offsets[index] ?? firstOffset;
    if (!rule) return lastOffset;
    if (!rule.daylight) return rule.standard;
    const year = yearOf(second);
    for (const each of [year + 1, year, year - 1]) {
      const change = this.#changesIn(each).findLast(({ at }) => at <= second);
      if (change) return change.at > last || each > this.#lastYear ? change.offset : lastOffset;
    }
    return lastOffset;
  }

  #changesIn(year: number): { at: number; offset: number }[] {
    const { rule } = this.#content;
    const known = this.#ruleYears.get(year);
    if (known || !rule) return known ?? [];
    const changes = ruleChanges(rule, year, year);
    this.#ruleYears.set(year, changes);
    return changes;
  }
}

/** No zone has changed twice within a week since 1970; the test against another implementation verifies this. */
const SAMPLE_INTERVAL_MS = 7 * DAY_MS;

/** A zone of the data inside Node; its transitions are found by sampling, as Intl does not name them. */
export class NodeZone extends IANAZone implements OffsetZone {
  transitions(fromMs: number, toMs: number): OffsetTable {
    const offsetMs = (ms: number): number => this.offset(ms) * 60_000;
    const table: OffsetTable = { starts: [fromMs], offsets: [offsetMs(fromMs)] };
    for (let before = fromMs; before < toMs; before += SAMPLE_INTERVAL_MS) {
      const after = Math.min(before + SAMPLE_INTERVAL_MS, toMs);
      const offset = offsetMs(after);
      if (offset === table.offsets.at(-1)) continue;
      table.starts.push(findTransition(offsetMs, before, after));
      table.offsets.push(offset);
    }
    return table;
  }
}

/** The first instant, to the second, whose offset differs from that of `before`. */
function findTransition(offsetMs: (ms: number) => number, before: number, after: number): number {
  const old = offsetMs(before);
  let low = before / 1_000;
  let high = after / 1_000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(middle * 1_000) === old) low = middle;
    else high = middle;
  }
  return high * 1_000;
}

/** Index of the last instant at or before `second`; -1 if there is none. */
function lastAtOrBefore(instants: readonly number[], second: number): number {
  let low = -1;
  let high = instants.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((instants[middle] ?? 0) <= second) low = middle;
    else high = middle - 1;
  }
  return low;
}

function yearOf(second: number): number {
  return new Date(Math.max(second, -8e12) * 1_000).getUTCFullYear();
}

/** `+1`, `+5:30` (narrow), `+01:00` (short) or `+0100` (techie). */
export function formatOffsetMinutes(minutes: number, format: "narrow" | "short" | "techie"): string {
  const sign = minutes < 0 ? "-" : "+";
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.trunc(Math.abs(minutes) % 60)];
  const two = (value: number): string => String(value).padStart(2, "0");
  if (format === "narrow") return `${sign}${hours}${rest === 0 ? "" : `:${two(rest)}`}`;
  return `${sign}${two(hours)}${format === "short" ? ":" : ""}${two(rest)}`;
}
