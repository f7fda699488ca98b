import type Database from "better-sqlite3";
import type { Clock } from "../base/clock.ts";
import { newId } from "../base/ids.ts";
import auditEntries from "../resources/security/audit-entries.ts";
import type { Field, ObjectField } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import { AUDIT_COLUMNS, type AuditTail, chainHash, newestEntry } from "./audit-chain.ts";
import { isSame } from "./row-values.ts";
import type { AnyRow } from "./rows.ts";
import type { SearchIndex } from "./search-index.ts";
import type { AuditNote, By, SqlValue } from "./store.ts";

/** The two records that every write leaves in its own transaction. @source interfaces.md, Writing and reading */
export interface Records {
  /** Change feed: the newest version per row, tombstones included. Returns its sequence number. */
  feed(resource: AnyResource, id: string, op: "create" | "update" | "delete"): number;
  /**
   * Audit: append-only, before and after with secrets masked, each row's hash covers the one before. own choice: of what
   * another side changed, which has it whole, the fields that differ.
   */
  audit(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: By): void;
  /** An audit entry of something that wrote no row. */
  note(note: AuditNote, by: By): void;
  /** Must be called when anything written was rolled back. */
  forget(): void;
}

/** Makes the recorder; its statements live as long as the database. */
export function createRecords(db: Database.Database, searchIndex: Pick<SearchIndex, "touch">, clock: Clock): Records {
  const addChange = db.prepare("INSERT OR REPLACE INTO changes (type, row_id, op, class, at) VALUES (?, ?, ?, ?, ?)");
  const names = [...AUDIT_COLUMNS, "hash"];
  const addAudit = db.prepare(
    `INSERT INTO audit_entries (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
  );
  let tail: AuditTail | null = null;
  const shown = new Map<AnyResource, Shown>();

  function add(what: { op: string; resource: string; rowId: string | null }, by: By, texts: (string | null)[]): void {
    tail ??= newestEntry((sql) => db.prepare(sql).get());
    const { actor, scope } = by;
    const now = clock.now();
    const entry: SqlValue[] = [
      ...[tail.pk + 1, newId(), now, now, what.op, what.resource, what.rowId],
      ...[actor.kind, actor.userId, actor.name, actor.address, scope.domainId],
      ...texts,
    ];
    tail = { pk: tail.pk + 1, hash: chainHash(tail.hash, entry) };
    addAudit.run(...entry, tail.hash);
    searchIndex.touch(auditEntries, null, { ...tail });
  }

  function shownOf(resource: AnyResource): Shown {
    const found = shown.get(resource) ?? Object.entries(resource.fields).filter(([, { kind }]) => kind !== "internal");
    shown.set(resource, found);
    return found;
  }

  function textsOf(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: By): (string | null)[] {
    const fields = shownOf(resource);
    if (before && after && by.replicated) {
      const changed = fields.filter(([name]) => !isSame(before[name], after[name]));
      return [auditText(changed, before), auditText(changed, after)];
    }
    return [before && auditText(fields, before), after && auditText(fields, after)];
  }

  return {
    feed(resource, id, op) {
      return Number(addChange.run(resource.name, id, op, resource.replicate, clock.now()).lastInsertRowid);
    },
    audit(resource, before, after, by) {
      const op = before === null ? "create" : after === null ? "delete" : "update";
      const { id } = (after ?? before) as AnyRow;
      add({ op, resource: resource.name, rowId: id }, by, [...textsOf(resource, before, after, by), null]);
    },
    note(note, by) {
      add(note, by, [null, null, note.details ? JSON.stringify(note.details) : null]);
    },
    forget() {
      tail = null;
    },
  };
}

/** Fields of a resource that the audit may show. */
type Shown = readonly (readonly [name: string, spec: Field])[];

/** The row as the API writes it, what is not set left out. */
function auditText(fields: Shown, row: AnyRow): string {
  const shown: Record<string, unknown> = {
    id: row.id,
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
  if (row.domainId !== null) shown.domainId = row.domainId;
  if (row.alsoIn !== null) shown.alsoIn = row.alsoIn;
  for (const [name, spec] of fields) {
    const value = row[name];
    if (value === null || value === undefined) continue;
    shown[name] = auditValue(spec, value);
  }
  return JSON.stringify(shown);
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

/** Free JSON may hold sealed members (a plugin's configuration): they are masked by their form. */
function maskSealed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return JSON.parse(
    JSON.stringify(value, (_key, member) =>
      typeof member === "string" && member.startsWith("v1:") ? "[secret]" : member,
    ),
  );
}
