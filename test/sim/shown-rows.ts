import { type FeedRow, SITE_ROWS } from "../../src/replication/hub/tables.ts";
import { ACTIVITY_TYPE } from "../../src/replication/site/activities.ts";
import { BASE, type BaseRow, PARKED, SHADOW } from "../../src/replication/site/tables.ts";
import { type Body, get, productIds, scan, shownRow, type Work } from "../../src/replication/work.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import type { Disk } from "./machine.ts";
import type { Watched } from "./oracle.ts";
import { CATALOGUE } from "./resources.ts";

/** What an appliance may have been given. */
export const SCOPES: readonly (readonly string[] | null)[] = [null, ["north"], ["south"]];

/** Whether a row belongs to what an appliance was given. */
function holds(scopes: readonly string[] | null, scope: string | null): boolean {
  return scope === null || scopes === null || scopes.includes(scope);
}

/** Rows of the appliances' state by id, as text; in the cloud, those of one appliance. */
export function stateOf(disk: Disk, endpoint?: string): [string, string][] {
  return disk.peek(function* () {
    const found: [string, string][] = [];
    for (const id of yield* productIds("panels", null, 1_000)) {
      if (endpoint !== undefined && (yield* get(SITE_ROWS, "panels", id))?.endpoint !== endpoint) continue;
      found.push([id, essence("panels", yield* shownRow("panels", id))]);
    }
    return found;
  });
}

/** How many rows the activities of an appliance tell of, and how many were written by marks and repairs. */
export function accountsOf(site: Watched): { sums: number; applied: number } {
  const { disk } = site.machine;
  const activities = disk.peek(function* () {
    const bodies: Body[] = [];
    for (const id of yield* productIds(ACTIVITY_TYPE, null, 100_000)) {
      const body = yield* shownRow(ACTIVITY_TYPE, id);
      if (body?.site === site.name) bodies.push(body);
    }
    return bodies;
  });
  const rows = activities.map(({ value }) => Number((value as { rows?: number }).rows ?? 0));
  return { sums: rows.reduce((sum, each) => sum + each, 0), applied: site.applied };
}

const ESSENCES = new WeakMap<Body, string>();

/** A row's fields alone, as text, for comparing; rows are never changed in place. */
function essence(type: string, body: Body | null): string {
  if (!body) return "";
  const known = ESSENCES.get(body);
  if (known !== undefined) return known;
  const { fields } = CATALOGUE.byName(type) as AnyResource;
  const text = JSON.stringify(Object.keys(fields).map((name) => body[name] ?? null));
  ESSENCES.set(body, text);
  return text;
}

/** A row of the cloud as an appliance has it. */
interface Shown {
  row: BaseRow;
  isParked: boolean;
  hasShadow: boolean;
  text: string;
}
/** All of them. */
export function* allShown(): Work<Shown[]> {
  const parked = new Set((yield* scan(PARKED)).map(({ type, id }) => `${type}/${id}`));
  const all: Shown[] = [];
  for (const row of yield* scan(BASE)) {
    const { type, id } = row;
    const shadow = yield* get(SHADOW, type, id);
    const text = essence(type, shadow ? shadow.body : yield* shownRow(type, id));
    all.push({ row, isParked: parked.has(`${type}/${id}`), hasShadow: shadow !== null, text });
  }
  return all;
}

/** What of them is not as the cloud had it then, for an appliance that was given these parts; null where all is. */
export function differenceOf(
  all: readonly Shown[],
  state: ReadonlyMap<string, FeedRow>,
  scopes: readonly string[] | null,
): string | null {
  for (const { row, isParked, hasShadow, text } of all) {
    const key = `${row.type}/${row.id}`;
    const wanted = state.get(key);
    if (!wanted || !holds(scopes, wanted.scope)) return `${key} is there and should not be`;
    if (wanted.seq !== row.seq) return `${key} is of ${row.seq}, not of ${wanted.seq}`;
    const right = essence(row.type, wanted.body);
    if (!isParked && text !== right)
      return `${key} is shown as ${text}, not ${right} (${hasShadow ? "shadow" : "row"})`;
  }
  const there = new Set(all.map(({ row }) => `${row.type}/${row.id}`));
  const missing = [...state].find(([key, { scope }]) => holds(scopes, scope) && !there.has(key));
  return missing ? `${missing[0]} is missing` : null;
}
