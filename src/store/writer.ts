import type Database from "better-sqlite3";
import type { Clock } from "../base/clock.ts";
import { BugError, faulty, forbidden, notFound } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import { followedBy } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Layout } from "./layout.ts";
import type { Records } from "./records.ts";
import { createRowLimits } from "./row-limits.ts";
import { prepareRowStatements, type RowStatements } from "./row-statements.ts";
import { createRowValues, viewOf } from "./row-values.ts";
import type { AnyRow } from "./rows.ts";
import type { SearchIndex } from "./search-index.ts";
import type { AppliedRow, Behaviour, By, Once, Reader, Recorder, Secrets, Transaction } from "./store.ts";
import type { Tables } from "./tables.ts";
import { guardHidden, guardUnique, inUse, throwFaults, unseen } from "./write-faults.ts";

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
  /** What will be told after COMMIT so far. */
  told: { count(): number; forgetFrom(count: number): void };
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
  /** As `apply` of each row, in order, or none of them: false when one was refused, for whatever reason. */
  applyAll(rows: readonly AppliedRow[], by: By): boolean;
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
  const values = createRowValues(tables, reader);

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
    const { checker, secrets, emptyRow } = statementsOf(layout);
    const { values: given, faults } = checker.check(input as Record<string, unknown>, "create");
    const now = clock.now();
    const after: AnyRow = {
      pk: 0,
      id: newId(),
      createdAt: now,
      updatedAt: now,
      domainId: tables.domainColumn(layout) ? by.scope.domainId : null,
      alsoIn: null,
      ...emptyRow(),
      ...sealSecrets(secrets, given),
      ...system,
    };
    throwFaults(faults.filter((fault) => !(fault.field && fault.field in system)));
    requireOwnGround(resource, after, system, by);
    behave("beforeWrite", resource, null, after, input, by);
    const seen = viewOf(by, system, null);
    const columns = values.columns(layout, after, seen, null);
    if (!by.replicated) limits.check(layout, after);
    const { insert, columns: names, links } = statementsOf(layout);
    const inOrder = names.map((name) => columns[name] ?? null);
    after.pk = Number(guardUnique(layout, () => insert.run(inOrder, pk)).lastInsertRowid);
    values.writeLinks(layout, links, { after, before: null }, seen);
    return after;
  }

  function update(resource: AnyResource, id: string, input: object, by: By, system: object): AnyRow {
    const before = reader.get(resource, id) as AnyRow | null;
    if (!before) throw notFound();
    return change(resource, before, input, by, system);
  }

  function change(resource: AnyResource, before: AnyRow, input: object, by: By, system: object): AnyRow {
    const layout = tables.layout(resource);
    requireChangeable(resource, before.id, by);
    const { checker, secrets } = statementsOf(layout);
    const { values: given, faults } = checker.check(input as Record<string, unknown>, "update");
    throwFaults(faults);
    keepHidden(resource, before, given, by);
    const after: AnyRow = { ...before, ...mergeObjects(resource, before, sealSecrets(secrets, given)), ...system };
    behave("beforeWrite", resource, before, after, input, by);
    if (after.updatedAt === before.updatedAt && JSON.stringify(after) === JSON.stringify(before)) return before;
    // Strictly later, as it names the version of the row for If-Match.
    if (!by.replicated) after.updatedAt = Math.max(clock.now(), before.updatedAt + 1);
    const seen = viewOf(by, system, before);
    const columns = values.columns(layout, after, seen, before);
    if (limits.hasEnded(layout, before) && !by.replicated) limits.check(layout, after);
    const { update: write, links } = statementsOf(layout);
    const names = Object.keys(columns);
    if (names.length > 0) guardUnique(layout, () => write(names).run(Object.values(columns), after.pk));
    values.writeLinks(layout, links, { after, before }, seen);
    record(resource, before, after, by);
    behave("afterWrite", resource, before, after, input, by);
    return after;
  }

  function apply(resource: AnyResource, id: string, row: object | null, by: By): void {
    const failed = undoing(() => {
      const before = reader.get(resource, id) as AnyRow | null;
      if (row) put(resource, id, { row, before }, by);
      else if (before) remove(resource, id, by);
    });
    if (failed) throw failed.error;
  }

  function applyAll(rows: readonly AppliedRow[], by: By): boolean {
    return !undoing(() => {
      for (const run of runsOf(rows)) {
        const [{ resource }] = run;
        // What behaviours write may be one of the rows to come.
        const { beforeWrite, afterWrite } = options.behaviourOf(resource);
        const known = beforeWrite || afterWrite ? null : befores(resource, run);
        for (const { id, row } of run) {
          const before = (known ? known.get(id.toLowerCase()) : reader.get(resource, id)) as AnyRow | undefined | null;
          put(resource, id, { row, before: before ?? null }, by);
        }
      }
    });
  }

  function befores(resource: AnyResource, rows: readonly AppliedRow[]): Map<string, AnyRow> {
    const ids = rows.map(({ id }) => id.toLowerCase());
    return new Map(reader.byIds(resource, ids).map((row) => [row.id, row as AnyRow]));
  }

  function put(resource: AnyResource, id: string, { row, before }: { row: object; before: AnyRow | null }, by: By) {
    if (before) change(resource, before, {}, by, row);
    else create(resource, {}, by, { ...row, id });
  }

  /** Does it, or nothing of it; what it failed with. */
  function undoing(work: () => void): { error: unknown } | null {
    const told = options.told.count();
    savepoint.begin.run();
    try {
      work();
    } catch (error) {
      // A full disk ends the whole transaction.
      if (!db.inTransaction) throw error;
      savepoint.undo.run();
      savepoint.end.run();
      options.told.forgetFrom(told);
      forget();
      return { error };
    }
    savepoint.end.run();
    return null;
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

  /** Secrets come in clear from callers alone; rows, and so what the system sets from them, hold them sealed. */
  function sealSecrets(secrets: readonly string[], given: Record<string, unknown>): Record<string, unknown> {
    const inClear = secrets.filter((field) => typeof given[field] === "string");
    if (inClear.length === 0) return given;
    const sealed = inClear.map((field) => [field, options.secrets.seal(given[field] as string)]);
    return { ...given, ...Object.fromEntries(sealed) };
  }

  function forget(): void {
    limits.forget();
    records.forget();
  }

  return { create, createHidden, announce, update, remove, apply, applyAll, requireChangeable, forget };
}

/** Rows in order, those of one resource that follow each other together. */
function runsOf(rows: readonly AppliedRow[]): [AppliedRow, ...AppliedRow[]][] {
  const runs: [AppliedRow, ...AppliedRow[]][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last?.[0].resource === row.resource) last.push(row);
    else runs.push([row]);
  }
  return runs;
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
