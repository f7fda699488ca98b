import { BugError } from "../lib/errors.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { type RowSnapshot, rowPaths } from "./webhook-events.ts";

/** An entry of the audit about the write of a row. */
export interface AuditedWrite {
  /** Its number in the audit. */
  pk: number;
  /** Epoch ms. */
  at: number;
  op: "create" | "update" | "delete";
  resource: AnyResource;
  before: RowSnapshot | null;
  after: RowSnapshot | null;
}

interface AuditLine extends Record<string, string | number | null> {
  pk: number;
  created_at: number;
  op: string;
  resource: string;
  before: string | null;
  after: string | null;
}

const COLUMNS = "pk, created_at, op, resource, before, after";

/** Number of the newest entry; 0 before the first. */
export function newestAuditNumber(reader: StoreReader): number {
  return reader.one<{ pk: number | null }>("SELECT max(pk) AS pk FROM audit_entries")?.pk ?? 0;
}

/** Writes of the resources named among the entries after `position` up to `upTo`, in order. */
export function auditedWritesBetween(
  range: { position: number; upTo: number; resources: readonly string[] },
  reader: StoreReader,
  catalogue: Catalogue,
): AuditedWrite[] {
  const rows = reader.all<AuditLine>(
    `SELECT ${COLUMNS} FROM audit_entries WHERE pk > ? AND pk <= ?
       AND resource IN (SELECT value FROM json_each(?)) AND op IN ('create', 'update', 'delete') ORDER BY pk`,
    range.position,
    range.upTo,
    JSON.stringify(range.resources),
  );
  return rows.map((row) => entryOf(row, catalogue));
}

/** One entry by its number; null when it is not there or its resource is not declared any more. */
export function auditedWriteAt(pk: number, reader: StoreReader, catalogue: Catalogue): AuditedWrite | null {
  const row = reader.one<AuditLine>(`SELECT ${COLUMNS} FROM audit_entries WHERE pk = ?`, pk);
  return row && catalogue.has(row.resource) ? entryOf(row, catalogue) : null;
}

function entryOf(row: AuditLine, catalogue: Catalogue): AuditedWrite {
  return {
    pk: row.pk,
    at: row.created_at,
    op: row.op as AuditedWrite["op"],
    resource: catalogue.byName(row.resource),
    before: snapshotOf(row.before),
    after: snapshotOf(row.after),
  };
}

function snapshotOf(text: string | null): RowSnapshot | null {
  return text === null ? null : (JSON.parse(text) as RowSnapshot);
}

/** The row as the write left it, or for a deletion as it was. */
export function affectedRow({ before, after }: AuditedWrite): RowSnapshot {
  const row = after ?? before;
  if (!row) throw new BugError("An audit entry of a write must have a row.");
  return row;
}

const PAST = { create: "created", update: "updated", delete: "deleted" } as const;

/** Event type, such as `users.updated`. */
export function webhookEventType(resource: string, op: AuditedWrite["op"]): string {
  return `${resource}.${PAST[op]}`;
}

/**
 * Body of a webhook, identical for every attempt: `{type, timestamp, data: {resource, id, path, changed, row}}`.
 * `row` is the row after the write (before it for a deletion) without secrets and files; `changed` lists the fields
 * changed by an update.
 * @source Standard Webhooks 1.0, Payload structure
 */
export function webhookBody(entry: AuditedWrite): string {
  const row = affectedRow(entry);
  const changed = entry.op === "update" ? changedNames(entry.before ?? {}, entry.after ?? {}) : [];
  return JSON.stringify({
    type: webhookEventType(entry.resource.name, entry.op),
    timestamp: new Date(entry.at).toISOString(),
    data: {
      resource: entry.resource.name,
      id: row.id,
      path: `/v1${rowPaths(entry.resource, row)[0] ?? ""}`,
      changed,
      row: publicMembers(entry.resource, row),
    },
  });
}

function changedNames(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  names.delete("updatedAt");
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).sort();
}

function publicMembers({ fields }: AnyResource, row: RowSnapshot): Record<string, unknown> {
  const hidden = new Set(["secret", "file"]);
  return Object.fromEntries(Object.entries(row).filter(([name]) => !hidden.has(fields[name]?.kind ?? "")));
}
