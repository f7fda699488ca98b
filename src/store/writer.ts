import type Database from "better-sqlite3";
import type { Clock } from "../base/clock.ts";
import { BugError, type Fault, faulty, forbidden, notFound } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import { followedBy } from "../schema/catalogue.ts";
import { defaultOf } from "../schema/check.ts";
import type { AnyResource } from "../schema/resource.ts";
import { encode, type Layout } from "./layout.ts";
import type { Records } from "./records.ts";
import { createRowLimits } from "./row-limits.ts";
import { prepareRowStatements, type RowStatements } from "./row-statements.ts";
import type { AnyRow } from "./rows.ts";
import type { SearchIndex } from "./search-index.ts";
import type { Behaviour, By, Once, Reader, Recorder, Secrets, SqlValue, Transaction } from "./store.ts";
import type { Tables } from "./tables.ts";
import { guardHidden, guardUnique, inUse, throwFaults, unseen, wrong } from "./write-faults.ts";

/** What writing rows needs. */
export interface WriterOptions {
  db: Database.Database;
  tables: Tables;
  reader: Reader;
  records: Records;
  searchIndex: Pick<SearchIndex, "touch">;
  once: Pick<Once, "mark">;
  secrets: Secrets;
  clock: Clock;
  behaviourOf(resource: AnyResource): Behaviour;
  /** Internal key of a new row of a table; null where the database chooses it. */
  keyFor(table: string): number | null;
  /** The open transaction, handed to behaviours. */
  transaction(): Transaction;
  /** Who takes what is written; null for nobody. Looked up at each write. */
  recorder(): Recorder | null;
  /** Tells a changed row after COMMIT. */
  changed(seq: number, resource: AnyResource, id: string, op: "create" | "update" | "delete"): void;
}

/** Checked writes of rows; every call runs inside the open transaction. */
export interface Writer {
  create(resource: AnyResource, input: object, by: By, system: object): AnyRow;
  update(resource: AnyResource, id: string, input: object, by: By, system: object): AnyRow;
  /** As `create`, under the internal key `pk`, told to nobody: `announce` follows once the row may be seen. */
  createHidden(resource: AnyResource, input: object, by: By, system: object, pk: number): AnyRow;
  /** What follows the creation of a row that was hidden: feed, audit, search, events and `afterWrite`. */
  announce(resource: AnyResource, row: AnyRow, by: By): void;
  /** References for which `leave` says so are left as they are: a rehearsal, which is undone. */
  remove(resource: AnyResource, id: string, by: By, leave?: (from: AnyResource, field: string) => boolean): void;
  /** As `create`, `update` or (with null) `remove`, of a row that another side has; what throws is undone. */
  apply(resource: AnyResource, id: string, row: object | null, by: By): void;
  /** Throws forbidden unless `by` may change the row in the acting domain; rows that are not there pass. */
  requireChangeable(resource: AnyResource, id: string, by: By): void;
  /** Must be called when anything written was rolled back. */
  forget(): void;
}

/** Makes the writer. */
export function createWriter(options: WriterOptions): Writer {
  const { db, tables, reader, records, clock } = options;
  const statements = new Map<string, RowStatements>();
  const savepoint = {
    begin: db.prepare("SAVEPOINT applied"),
    undo: db.prepare("ROLLBACK TO applied"),
    end: db.prepare("RELEASE applied"),
  };
  const limits = createRowLimits(reader, clock);

  const statementsOf = (layout: Layout): RowStatements => {
    const found = statements.get(layout.table) ?? prepareRowStatements(db, tables, layout);
    statements.set(layout.table, found);
    return found;
  };

  function create(resource: AnyResource, input: object, by: By, system: object): AnyRow {
    const row = createHidden(resource, input, by, system, options.keyFor(tables.layout(resource).table));
    record(resource, null, row, by);
    behave("afterWrite", resource, null, row, input, by);
    return row;
  }

  function announce(resource: AnyResource, row: AnyRow, by: By): void {
    record(resource, null, row, by);
    const given = Object.entries(row).filter(([name, value]) => name in resource.fields && value !== null);
    behave("afterWrite", resource, null, row, Object.fromEntries(given), by);
  }

  /** Stores the row and no more; the database chooses the key where `pk` is null. */
  function createHidden(resource: AnyResource, input: object, by: By, system: object, pk: number | null): AnyRow {
    const layout = tables.layout(resource);
    const { checker } = statementsOf(layout);
    const { values, faults } = checker.check(input as Record<string, unknown>, "create");
    const now = clock.now();
    const after: AnyRow = {
      pk: 0,
      id: newId(),
      createdAt: now,
      updatedAt: now,
      domainId: tables.domainColumn(layout) ? by.scope.domainId : null,
      alsoIn: null,
      ...emptyRow(resource),
      ...sealSecrets(layout, values),
      ...system,
    };
    throwFaults(faults.filter((fault) => !(fault.field && fault.field in system)));
    requireOwnGround(resource, after, system, by);
    behave("beforeWrite", resource, null, after, input, by);
    const seen = viewOf(by, system, null);
    const columns = columnValues(layout, after, seen);
    if (!by.replicated) limits.check(layout, after);
    const { insert } = statementsOf(layout);
    after.pk = Number(guardUnique(layout, () => insert.run(inOrder(layout, columns), pk)).lastInsertRowid);
    writeLinks(layout, after, seen, null);
    return after;
  }

  function inOrder(layout: Layout, values: Record<string, SqlValue>): SqlValue[] {
    return statementsOf(layout).columns.map((name) => values[name] ?? null);
  }

  function update(resource: AnyResource, id: string, input: object, by: By, system: object): AnyRow {
    const before = reader.get(resource, id) as AnyRow | null;
    if (!before) throw notFound();
    return change(resource, before, input, by, system);
  }

  function change(resource: AnyResource, before: AnyRow, input: object, by: By, system: object): AnyRow {
    const layout = tables.layout(resource);
    requireChangeable(resource, before.id, by);
    const { checker } = statementsOf(layout);
    const { values, faults } = checker.check(input as Record<string, unknown>, "update");
    throwFaults(faults);
    keepHidden(resource, before, values, by);
    const after: AnyRow = { ...before, ...mergeObjects(resource, before, sealSecrets(layout, values)), ...system };
    behave("beforeWrite", resource, before, after, input, by);
    if (after.updatedAt === before.updatedAt && JSON.stringify(after) === JSON.stringify(before)) return before;
    // Strictly later, as it names the version of the row for If-Match.
    if (!by.replicated) after.updatedAt = Math.max(clock.now(), before.updatedAt + 1);
    const seen = viewOf(by, system, before);
    const columns = columnValues(layout, after, seen);
    if (limits.hasEnded(layout, before) && !by.replicated) limits.check(layout, after);
    const { update: write } = statementsOf(layout);
    guardUnique(layout, () => write.run(inOrder(layout, columns), after.pk));
    writeLinks(layout, after, seen, before);
    record(resource, before, after, by);
    behave("afterWrite", resource, before, after, input, by);
    return after;
  }

  function apply(resource: AnyResource, id: string, row: object | null, by: By): void {
    const before = reader.get(resource, id) as AnyRow | null;
    savepoint.begin.run();
    try {
      if (row && before) change(resource, before, {}, by, row);
      else if (row) create(resource, {}, by, { ...row, id });
      else if (before) remove(resource, id, by);
    } catch (error) {
      // A full disk ends the whole transaction.
      if (!db.inTransaction) throw error;
      savepoint.undo.run();
      savepoint.end.run();
      forget();
      throw error;
    }
    savepoint.end.run();
  }

  function remove(resource: AnyResource, id: string, by: By, leave?: (from: AnyResource, field: string) => boolean) {
    const row = reader.get(resource, id) as AnyRow | null;
    if (!row) throw notFound();
    behave("beforeWrite", resource, row, null, {}, by);
    for (const { from, field } of tables.catalogue.inbound(resource)) {
      if (!leave?.(from, field)) detach(from, field, row, by);
    }
    const layout = tables.layout(resource);
    for (const link of statementsOf(layout).links) link.clear.run(row.pk);
    guardHidden(() => statementsOf(layout).remove.run(row.pk));
    limits.forget();
    record(resource, row, null, by);
    behave("afterWrite", resource, row, null, {}, by);
  }

  /** Facts are written by rooms about what happened, wherever it did. */
  function requireChangeable(resource: AnyResource, id: string, by: By): void {
    const changeable = resource.facts ? "all" : by.scope.changeable.visible(resource);
    if (changeable !== "all" && reader.get(resource, id) && !reader.get(resource, id, by.scope.changeable)) {
      throw forbidden();
    }
  }

  /** A new row changes what it belongs to, which must be the caller's to change. */
  function requireOwnGround(resource: AnyResource, row: AnyRow, system: object, by: By): void {
    if (resource.scope !== "parent" || resource.facts) return;
    for (const name of followedBy(resource)) {
      const spec = resource.fields[name];
      const id = row[name] as string | null;
      if (spec?.kind !== "ref" || !id || name in system || !tables.catalogue.has(spec.to)) continue;
      const target = tables.catalogue.byName(spec.to);
      // Whether it is there at all, the reference itself is checked for.
      if (by.scope.changeable.visible(target) === "all") continue;
      if (!reader.get(target, id, by.scope.inSight)) throw faulty([unseen(name, id)]);
      if (target.domainField !== "id") requireChangeable(target, id, by);
      else if (!by.scope.holds(id)) throw forbidden();
    }
  }

  /** own choice: what somebody can't see in a row, that somebody can't take out of it. */
  function keepHidden(resource: AnyResource, before: AnyRow, values: Record<string, unknown>, by: By): void {
    for (const [name, value] of Object.entries(values)) {
      const spec = resource.fields[name];
      if ((spec?.kind !== "ref" && spec?.kind !== "many") || !tables.catalogue.has(spec.to)) continue;
      const target = tables.catalogue.byName(spec.to);
      if (by.scope.inSight.visible(target) === "all") continue;
      const isHidden = (id: string): boolean => reader.get(target, id, by.scope.inSight) === null;
      const held = before[name] as string | string[] | null;
      if (Array.isArray(held)) {
        const given = (value ?? []) as string[];
        values[name] = [...given, ...held.filter((id) => !given.includes(id) && isHidden(id))];
      } else if (value === null && held !== null && isHidden(held)) values[name] = held;
    }
  }

  /** Takes the references to a row that goes away out of the rows that hold them. */
  function detach(from: AnyResource, field: string, target: AnyRow, by: By): void {
    const layout = tables.layout(from);
    const spec = from.fields[field];
    if (spec?.kind === "many") {
      const link = layout.links.find((candidate) => candidate.field === field);
      if (!link) return;
      const owners = reader.all<{ id: string }>(
        `SELECT o.id FROM ${link.table} l JOIN ${layout.table} o ON o.pk = l.owner WHERE l.target = ?`,
        target.pk,
      );
      if (spec.onDelete === "refuse" && owners.length > 0) throw inUse(from, owners.length, by);
      const befores = heldBefore(from, owners, by);
      db.prepare(`DELETE FROM ${link.table} WHERE target = ?`).run(target.pk);
      for (const [at, { id }] of owners.entries()) touched(from, id, befores[at] ?? null, by);
      return;
    }
    const column = layout.columnOf(field);
    if (spec?.kind !== "ref" || !column) return;
    const holders = reader.all<{ id: string }>(`SELECT id FROM ${layout.table} WHERE ${column.name} = ?`, target.pk);
    if (spec.onDelete === "refuse" && holders.length > 0) throw inUse(from, holders.length, by);
    if (spec.onDelete === "clear") {
      const befores = heldBefore(from, holders, by);
      db.prepare(`UPDATE main.${layout.table} SET ${column.name} = NULL WHERE ${column.name} = ?`).run(target.pk);
      for (const [at, { id }] of holders.entries()) touched(from, id, befores[at] ?? null, by);
    } else if (from.facts) {
      db.prepare(`DELETE FROM main.${layout.table} WHERE ${column.name} = ?`).run(target.pk);
    } else {
      for (const { id } of holders) if (reader.get(from, id)) remove(from, id, by);
    }
  }

  /** Rows as they are before a reference is taken out of them; none where nobody asks. */
  function heldBefore(from: AnyResource, rows: readonly { id: string }[], by: By): (AnyRow | null)[] {
    return isRecorded(from, by) ? rows.map(({ id }) => reader.get(from, id) as AnyRow | null) : [];
  }

  function touched(resource: AnyResource, id: string, before: AnyRow | null, by: By): void {
    if (before) takeRecord(resource, before, reader.get(resource, id) as AnyRow | null, by);
    if (!resource.facts) options.changed(records.feed(resource, id, "update"), resource, id, "update");
  }

  function isRecorded({ replicate }: AnyResource, by: By): boolean {
    return !by.replicated && replicate !== "local" && replicate !== "E" && options.recorder() !== null;
  }

  function takeRecord(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: By): void {
    if (isRecorded(resource, by)) options.recorder()?.({ resource, before, after }, options.transaction(), by);
  }

  function record(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: By): void {
    if (by.once && after) options.once.mark(by.once, resource.name, after.id);
    takeRecord(resource, before, after, by);
    if (resource.facts) return;
    options.searchIndex.touch(resource, before, after);
    const op = before === null ? "create" : after === null ? "delete" : "update";
    const { id } = (after ?? before) as AnyRow;
    const seq = records.feed(resource, id, op);
    records.audit(resource, before, after, by);
    options.changed(seq, resource, id, op);
  }

  function behave(
    when: "beforeWrite" | "afterWrite",
    resource: AnyResource,
    before: AnyRow | null,
    after: AnyRow | null,
    input: object,
    by: By,
  ): void {
    const hook = options.behaviourOf(resource)[when];
    if (!hook) return;
    const op = before === null ? "create" : after === null ? "delete" : "update";
    hook(
      { op, before: before as never, after: after as never, given: new Set(Object.keys(input)) },
      options.transaction(),
      by,
    );
  }

  /** Values by column name, references resolved to internal keys. Throws when a reference leads nowhere. */
  function columnValues(layout: Layout, row: AnyRow, seen: View): Record<string, SqlValue> {
    const values: Record<string, SqlValue> = {
      pk: row.pk,
      id: row.id,
      created_at: row.createdAt,
      updated_at: row.updatedAt,
    };
    const faults: Fault[] = [];
    if (tables.domainColumn(layout)) {
      values.domain_pk = row.domainId === null ? null : keyOf("domains", row.domainId, null);
      values.also_in = row.alsoIn === null ? null : JSON.stringify(row.alsoIn);
    }
    for (const column of layout.columns) {
      const value = row[column.field];
      if (column.target && column.spec.kind === "ref") {
        const key =
          value === null || value === undefined
            ? null
            : keyOf(column.spec.to, value as string, seen(column.field, value as string));
        if (key === null && value !== null && value !== undefined) faults.push(unseen(column.field, value as string));
        values[column.name] = key;
      } else {
        values[column.name] = encode(column.spec, value);
      }
    }
    for (const { field } of layout.absent) {
      const value = row[field];
      if (value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0))
        faults.push(wrong(field, "Nothing of this kind can be referred to yet."));
    }
    throwFaults(faults);
    return values;
  }

  /** Secrets come in clear from callers alone; rows, and so what the system sets from them, hold them sealed. */
  function sealSecrets(layout: Layout, values: Record<string, unknown>): Record<string, unknown> {
    const secrets = layout.columns.filter(
      ({ spec, field }) => spec.kind === "secret" && typeof values[field] === "string",
    );
    const sealed = secrets.map(({ field }) => [field, options.secrets.seal(values[field] as string)]);
    return { ...values, ...Object.fromEntries(sealed) };
  }

  /** Internal key of a row that `by` may see, or of a domain that it may name; null when there is none. */
  function keyOf(name: string, id: string, by: By | null): number | null {
    const resource = tables.catalogue.byName(name);
    const sight = resource.domainField === "id" ? by?.scope.inSight : by?.scope;
    const visible = sight?.visible(resource) ?? "all";
    if (visible === "none") return null;
    const condition = visible === "all" ? "" : ` AND (${visible.sql})`;
    const params = visible === "all" ? [] : visible.params;
    const found = reader.one<{ pk: number }>(
      `SELECT t.pk FROM ${tables.layout(resource).table} t WHERE t.id = ?${condition}`,
      id,
      ...params,
    );
    return found?.pk ?? null;
  }

  function writeLinks(layout: Layout, after: AnyRow, seen: View, before: AnyRow | null): void {
    for (const link of statementsOf(layout).links) {
      const spec = layout.resource.fields[link.field];
      const ids = after[link.field] as string[] | undefined;
      if (!ids || spec?.kind !== "many" || (before && JSON.stringify(before[link.field]) === JSON.stringify(ids)))
        continue;
      if (before) link.clear.run(after.pk);
      ids.forEach((id, position) => {
        const target = keyOf(spec.to, id, seen(link.field, id));
        if (target === null) throw faulty([unseen(link.field, id)]);
        link.add.run(after.pk, position, target);
      });
    }
  }

  function forget(): void {
    limits.forget();
    records.forget();
  }

  return { create, createHidden, announce, update, remove, apply, requireChangeable, forget };
}

/** By whose sight a reference of a field is judged; null for nobody's. */
type View = (field: string, id: string) => By | null;

/** What Carillon sets itself, and what the row referred to before, need not be visible to whoever writes. */
function viewOf(by: By, system: object, before: AnyRow | null): View {
  return (field, id) => {
    const held = before?.[field];
    const kept = Array.isArray(held) ? held.includes(id) : held === id;
    return kept || field in system ? null : by;
  };
}

/** What the stored fields hold before anything is given. */
function emptyRow(resource: AnyResource): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(resource.fields)) if (spec.kind !== "computed") row[name] = defaultOf(spec);
  return row;
}

/** An update of an object field changes only the members given. */
function mergeObjects(resource: AnyResource, before: AnyRow, values: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...values };
  for (const [name, value] of Object.entries(values)) {
    if (resource.fields[name]?.kind !== "object" || value === null) continue;
    merged[name] = { ...(before[name] as object | null), ...(value as object) };
  }
  return merged;
}

/** Refuses use after the transaction's end. */
export function closedTransaction(): never {
  throw new BugError("a transaction was used after its end");
}
