import { BugError } from "../base/errors.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Reader } from "../store/store.ts";
import { pathsOf, type Snapshot } from "./told-writes.ts";

/** An entry of the audit about the write of a row. */
export interface WriteEntry {
  /** Its number in the audit. */
  pk: number;
  /** Epoch ms. */
  at: number;
  op: "create" | "update" | "delete";
  resource: AnyResource;
  before: Snapshot | null;
  after: Snapshot | null;
}

interface Line extends Record<string, string | number | null> {
  pk: number;
  created_at: number;
  op: string;
  resource: string;
  before: string | null;
  after: string | null;
}

const COLUMNS = "pk, created_at, op, resource, before, after";

/** Number of the newest entry; 0 before the first. */
export function newestEntry(reader: Reader): number {
  return reader.one<{ pk: number | null }>("SELECT max(pk) AS pk FROM audit_entries")?.pk ?? 0;
}

/** Writes of the resources named among the entries after `position` up to `upTo`, in order. */
export function entriesBetween(
  range: { position: number; upTo: number; resources: readonly string[] },
  reader: Reader,
  catalogue: Catalogue,
): WriteEntry[] {
  const lines = reader.all<Line>(
    `SELECT ${COLUMNS} FROM audit_entries WHERE pk > ? AND pk <= ?
       AND resource IN (SELECT value FROM json_each(?)) AND op IN ('create', 'update', 'delete') ORDER BY pk`,
    range.position,
    range.upTo,
    JSON.stringify(range.resources),
  );
  return lines.map((line) => entryOf(line, catalogue));
}

/** One entry by its number; null when it is not there or its resource is not declared any more. */
export function entryAt(pk: number, reader: Reader, catalogue: Catalogue): WriteEntry | null {
  const line = reader.one<Line>(`SELECT ${COLUMNS} FROM audit_entries WHERE pk = ?`, pk);
  return line && catalogue.has(line.resource) ? entryOf(line, catalogue) : null;
}

function entryOf(line: Line, catalogue: Catalogue): WriteEntry {
  return {
    pk: line.pk,
    at: line.created_at,
    op: line.op as WriteEntry["op"],
    resource: catalogue.byName(line.resource),
    before: snapshotOf(line.before),
    after: snapshotOf(line.after),
  };
}

function snapshotOf(text: string | null): Snapshot | null {
  return text === null ? null : (JSON.parse(text) as Snapshot);
}

/** The row as the write left it, or for a deletion as it was. */
export function subjectOf({ before, after }: WriteEntry): Snapshot {
  const row = after ?? before;
  if (!row) throw new BugError("An audit entry of a write has no row.");
  return row;
}

const PAST = { create: "created", update: "updated", delete: "deleted" } as const;

/** What happened, as receivers read it: such as `users.updated`. */
export function eventName(resource: string, op: WriteEntry["op"]): string {
  return `${resource}.${PAST[op]}`;
}

/**
 * The body of a message, the same bytes at each try: `{type, timestamp, data: {resource, id, path, changed, row}}`. `row`
 * is the row as the write left it (deleted: as it was) without secrets and files; `changed` names what an update changed.
 * @source Standard Webhooks 1.0, Payload structure; own choice: the members of data
 */
export function messageBody(entry: WriteEntry): string {
  const row = subjectOf(entry);
  const changed = entry.op === "update" ? changedNames(entry.before ?? {}, entry.after ?? {}) : [];
  return JSON.stringify({
    type: eventName(entry.resource.name, entry.op),
    timestamp: new Date(entry.at).toISOString(),
    data: {
      resource: entry.resource.name,
      id: row.id,
      path: `/v1${pathsOf(entry.resource, row)[0] ?? ""}`,
      changed,
      row: shownMembers(entry.resource, row),
    },
  });
}

function changedNames(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  names.delete("updatedAt");
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).sort();
}

function shownMembers({ fields }: AnyResource, row: Snapshot): Record<string, unknown> {
  const hidden = new Set(["secret", "file"]);
  return Object.fromEntries(Object.entries(row).filter(([name]) => !hidden.has(fields[name]?.kind ?? "")));
}
