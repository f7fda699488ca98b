import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import auditEntries from "../resources/security/audit-entries.ts";
import type { Field, ObjectField } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import { AUDIT_COLUMNS, AUDIT_SEALED, type AuditTail, chainHash, readAuditTail } from "./audit-chain.ts";
import { clearUnsealedMark, createUnsealedAuditCheck } from "./audit-seal.ts";
import type { AnyRow } from "./row-shape.ts";
import { isSameValue } from "./row-values.ts";
import type { SearchIndex } from "./search-index.ts";
import type { ActorContext, AuditEvent, SqlValue } from "./store.ts";

/**
 * The two records that every write leaves in its own transaction: change feed and audit.
 * @source docs/decisions/0017-store.md, Two records per write
 */
export interface ChangeRecords {
  /** Change feed: the newest version per row, tombstones included. Returns the sequence number. */
  appendChange(resource: AnyResource, id: string, op: "create" | "update" | "delete"): number;
  /**
   * Audit: append-only, before and after with secrets masked; each entry's hash covers the previous one. For replicated
   * updates only the changed fields are kept, because the other side has the full entry.
   */
  appendAudit(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: ActorContext): void;
  /** Adds an audit entry for an event that wrote no row. */
  appendAuditEvent(note: AuditEvent, by: ActorContext): void;
  /** Must be called after a rollback. */
  resetCache(): void;
}

/** Creates the recorder; its prepared statements live as long as the database. */
export function createChangeRecords(
  db: Database.Database,
  auditKey: Buffer,
  searchIndex: Pick<SearchIndex, "markChanged">,
  clock: Clock,
): ChangeRecords {
  const addChange = db.prepare("INSERT OR REPLACE INTO changes (type, row_id, op, class, at) VALUES (?, ?, ?, ?, ?)");
  const names = [...AUDIT_COLUMNS, "hash"];
  const addAudit = db.prepare(
    `INSERT INTO audit_entries (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
  );
  let tail: AuditTail | null = null;
  const unsealed = createUnsealedAuditCheck(db);
  const auditedFieldsByResource = new Map<AnyResource, AuditedFields>();

  /** Entries of earlier releases have hashes without the key; this one, which has it, vouches for them. */
  function appendSeal({ number, hash, broken }: { number: number; hash: string; broken: object | null }): void {
    const details = { entries: number, hash, intact: broken === null, ...(broken && { broken }) };
    appendEntry({ op: AUDIT_SEALED, resource: auditEntries.name, rowId: null }, STORE_ITSELF, [
      ...[null, null, JSON.stringify(details)],
    ]);
    clearUnsealedMark(db);
  }

  function appendEntry(
    event: { op: string; resource: string; rowId: string | null },
    by: Pick<ActorContext, "actor"> & { scope: Pick<ActorContext["scope"], "domainId"> },
    texts: (string | null)[],
  ): void {
    tail ??= readAuditTail((sql) => db.prepare(sql).get());
    const found = unsealed.take();
    if (found) appendSeal(found);
    const { actor, scope } = by;
    const now = clock.now();
    const entry: SqlValue[] = [
      ...[tail.pk + 1, newId(), now, now, event.op, event.resource, event.rowId],
      ...[actor.kind, actor.userId, actor.name, actor.address, scope.domainId],
      ...texts,
    ];
    tail = { pk: tail.pk + 1, hash: chainHash(auditKey, tail.hash, entry) };
    addAudit.run(...entry, tail.hash);
    searchIndex.markChanged(auditEntries, null, { ...tail });
  }

  function auditedFields(resource: AnyResource): AuditedFields {
    const found =
      auditedFieldsByResource.get(resource) ??
      Object.entries(resource.fields).filter(([, { kind }]) => kind !== "internal");
    auditedFieldsByResource.set(resource, found);
    return found;
  }

  function auditTexts(
    resource: AnyResource,
    before: AnyRow | null,
    after: AnyRow | null,
    by: ActorContext,
  ): (string | null)[] {
    const fields = auditedFields(resource);
    if (before && after && by.replicated) {
      const changed = fields.filter(([name]) => !isSameValue(before[name], after[name]));
      return [auditText(changed, before), auditText(changed, after)];
    }
    return [before && auditText(fields, before), after && auditText(fields, after)];
  }

  return {
    appendChange(resource, id, op) {
      return Number(addChange.run(resource.name, id, op, resource.replicate, clock.now()).lastInsertRowid);
    },
    appendAudit(resource, before, after, by) {
      const op = before === null ? "create" : after === null ? "delete" : "update";
      const { id } = (after ?? before) as AnyRow;
      appendEntry({ op, resource: resource.name, rowId: id }, by, [...auditTexts(resource, before, after, by), null]);
    },
    appendAuditEvent(note, by) {
      appendEntry(note, by, [null, null, note.details ? JSON.stringify(note.details) : null]);
    },
    resetCache() {
      tail = null;
      unsealed.reset();
    },
  };
}

const STORE_ITSELF = {
  actor: { kind: "system", userId: null, name: "store", address: null },
  scope: { domainId: null },
} as const;

/** Fields of a resource that may appear in the audit. */
type AuditedFields = readonly (readonly [name: string, spec: Field])[];

/** The row in API form, without unset fields. */
function auditText(fields: AuditedFields, row: AnyRow): string {
  const entry: Record<string, unknown> = {
    id: row.id,
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
  if (row.domainId !== null) entry.domainId = row.domainId;
  if (row.alsoIn !== null) entry.alsoIn = row.alsoIn;
  for (const [name, spec] of fields) {
    const value = row[name];
    if (value === null || value === undefined) continue;
    entry[name] = auditValue(spec, value);
  }
  return JSON.stringify(entry);
}

function auditValue(spec: Field, value: unknown): unknown {
  switch (spec.kind) {
    case "secret":
      return "[secret]";
    case "timestamp":
      return isoTime(value as number);
    case "json":
      return maskSealed(value);
    case "object":
      return auditMembers(spec, value as Record<string, unknown>);
    default:
      return value;
  }
}

function auditMembers({ fields }: ObjectField, value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const members = Object.entries(fields).flatMap(([name, spec]) => {
    const member = value[name];
    return member === null || member === undefined ? [] : [[name, auditValue(spec, member)] as const];
  });
  return Object.fromEntries(members);
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** Free-form JSON may hold sealed members (plugin configuration); they are recognised by the prefix `v1:`. */
function maskSealed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return JSON.parse(
    JSON.stringify(value, (_key, member) =>
      typeof member === "string" && member.startsWith("v1:") ? "[secret]" : member,
    ),
  );
}
