import type { AnyResource } from "../../src/schema/resource.ts";
import { type FeedRecord, SITE_RECORDS } from "../../src/sync/hub/tables.ts";
import { ACTIVITY_TYPE } from "../../src/sync/site/sync-activities.ts";
import { APPLIED_VERSIONS, type AppliedVersion, REFUSED_ROWS, SHADOW_ROWS } from "../../src/sync/site/tables.ts";
import {
  getRecord,
  listProductIds,
  type RowBody,
  readProductRow,
  scanRecords,
  type TransactionProgram,
} from "../../src/sync/storage/transaction-program.ts";
import type { Disk } from "./machine.ts";
import type { ObservedSite } from "./oracle.ts";
import { CATALOGUE } from "./resources.ts";

/** What an appliance may have been given. */
export const SCOPES: readonly (readonly string[] | null)[] = [null, ["north"], ["south"]];

/** Whether a row belongs to what an appliance was given. */
function isInScope(scopes: readonly string[] | null, scope: string | null): boolean {
  return scope === null || scopes === null || scopes.includes(scope);
}

/** Rows of the appliances' state by id, as text; in the cloud, those of one appliance. */
export function siteStateRows(disk: Disk, endpoint?: string): [string, string][] {
  return disk.peek(function* () {
    const found: [string, string][] = [];
    for (const id of yield* listProductIds("panels", null, 1_000)) {
      if (endpoint !== undefined && (yield* getRecord(SITE_RECORDS, "panels", id))?.endpoint !== endpoint) continue;
      found.push([id, comparableText("panels", yield* readProductRow("panels", id))]);
    }
    return found;
  });
}

/** How many rows the activities of an appliance tell of, and how many were written by marks and repairs. */
export function activityTotals(site: ObservedSite): { sums: number; applied: number } {
  const { disk } = site.machine;
  const activities = disk.peek(function* () {
    const bodies: RowBody[] = [];
    for (const id of yield* listProductIds(ACTIVITY_TYPE, null, 100_000)) {
      const body = yield* readProductRow(ACTIVITY_TYPE, id);
      if (body?.site === site.name) bodies.push(body);
    }
    return bodies;
  });
  const rows = activities.map(({ value }) => Number((value as { rows?: number }).rows ?? 0));
  return { sums: rows.reduce((sum, each) => sum + each, 0), applied: site.applied };
}

const ESSENCES = new WeakMap<RowBody, string>();

/** A row's fields alone, as text, for comparing; rows are never changed in place. */
function comparableText(type: string, body: RowBody | null): string {
  if (!body) return "";
  const known = ESSENCES.get(body);
  if (known !== undefined) return known;
  const { fields } = CATALOGUE.byName(type) as AnyResource;
  const text = JSON.stringify(Object.keys(fields).map((name) => body[name] ?? null));
  ESSENCES.set(body, text);
  return text;
}

/** A row of the cloud as an appliance has it. */
interface ComparedRow {
  row: AppliedVersion;
  isParked: boolean;
  hasShadow: boolean;
  text: string;
}
/** All of them. */
export function* readComparedRows(): TransactionProgram<ComparedRow[]> {
  const parked = new Set((yield* scanRecords(REFUSED_ROWS)).map(({ type, id }) => `${type}/${id}`));
  const all: ComparedRow[] = [];
  for (const row of yield* scanRecords(APPLIED_VERSIONS)) {
    const { type, id } = row;
    const shadow = yield* getRecord(SHADOW_ROWS, type, id);
    const text = comparableText(type, shadow ? shadow.body : yield* readProductRow(type, id));
    all.push({ row, isParked: parked.has(`${type}/${id}`), hasShadow: shadow !== null, text });
  }
  return all;
}

/** What of them is not as the cloud had it then, for an appliance that was given these parts; null where all is. */
export function findRowDifference(
  all: readonly ComparedRow[],
  state: ReadonlyMap<string, FeedRecord>,
  scopes: readonly string[] | null,
): string | null {
  for (const { row, isParked, hasShadow, text } of all) {
    const key = `${row.type}/${row.id}`;
    const wanted = state.get(key);
    if (!wanted || !isInScope(scopes, wanted.scope)) return `${key} is there and should not be`;
    if (wanted.seq !== row.seq) return `${key} is of ${row.seq}, not of ${wanted.seq}`;
    const right = comparableText(row.type, wanted.body);
    if (!isParked && text !== right)
      return `${key} is shown as ${text}, not ${right} (${hasShadow ? "shadow" : "row"})`;
  }
  const there = new Set(all.map(({ row }) => `${row.type}/${row.id}`));
  const missing = [...state].find(([key, { scope }]) => isInScope(scopes, scope) && !there.has(key));
  return missing ? `${missing[0]} is missing` : null;
}
