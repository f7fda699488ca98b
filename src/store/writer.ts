import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { BugError, forbidden, notFound, validationError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { isArgon2Hash } from "../lib/password-hash.ts";
import { visibilityReferences } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { secretsOfOtherTargets } from "../schema/secret-binding.ts";
import type { ChangeRecords } from "./change-records.ts";
import { createRowLimits } from "./row-limits.ts";
import type { AnyRow } from "./row-shape.ts";
import { prepareRowStatements, type RowStatements } from "./row-statements.ts";
import { createRowValues, referenceViewerFor } from "./row-values.ts";
import type { SearchIndex } from "./search-index.ts";
import type {
  ActorContext,
  AppliedRow,
  ChangeCapture,
  IdempotencyStore,
  ResourceHooks,
  Secrets,
  StoreReader,
  Transaction,
} from "./store.ts";
import type { TableLayout } from "./table-layout.ts";
import type { Tables } from "./tables.ts";
import {
  guardStagedReferences,
  guardUnique,
  inUseError,
  referenceNotFoundError,
  throwFieldErrors,
} from "./write-errors.ts";

/** Dependencies of the writer. */
export interface WriterDeps {
  db: Database.Database;
  tables: Tables;
  reader: StoreReader;
  records: ChangeRecords;
  searchIndex: Pick<SearchIndex, "markChanged">;
  idempotency: Pick<IdempotencyStore, "recordRow">;
  secrets: Secrets;
  clock: Clock;
  hooksFor(resource: AnyResource): ResourceHooks;
  /** Internal key of a new row of a table; null when the database assigns it. */
  nextKeyFor(table: string): number | null;
  /** The open transaction, passed to hooks. */
  transaction(): Transaction;
  /** Captures written rows for replication; null when not linked. Looked up at each write. */
  changeCapture(): ChangeCapture | null;
  /** Queues the event `row.changed` for after COMMIT. */
  changed(seq: number, resource: AnyResource, id: string, op: "create" | "update" | "delete"): void;
  /** Events queued for after COMMIT. */
  pendingEvents: { count(): number; forgetFrom(count: number): void };
}

/** Checked writes of rows; every call runs inside the open transaction. */
export interface Writer {
  create(resource: AnyResource, input: object, by: ActorContext, system: object): AnyRow;
  update(resource: AnyResource, id: string, input: object, by: ActorContext, system: object): AnyRow;
  /**
   * As `create`, with the internal key `pk` and without feed, audit and events; `announce` follows once the row is
   * published.
   */
  createStaged(resource: AnyResource, input: object, by: ActorContext, system: object, pk: number): AnyRow;
  /** Completes the creation of a staged row: feed, audit, search, events and `afterWrite`. */
  announce(resource: AnyResource, row: AnyRow, by: ActorContext): void;
  /** `skip` leaves references untouched; only for dry runs. */
  remove(
    resource: AnyResource,
    id: string,
    by: ActorContext,
    skip?: (from: AnyResource, field: string) => boolean,
  ): void;
  /** Applies a replicated row: creates, updates or (null) removes it. Rolls back its own changes if it throws. */
  apply(resource: AnyResource, id: string, row: object | null, by: ActorContext): void;
  /** As `apply` for each row in order, all or none: false when any row was refused. */
  applyAll(rows: readonly AppliedRow[], by: ActorContext): boolean;
  /**
   * Permission check: throws forbidden unless `by` may change the row in the acting domain; passes for missing rows.
   */
  assertChangeable(resource: AnyResource, id: string, by: ActorContext): void;
  /** Must be called after a rollback. */
  resetCaches(): void;
}

/** Creates the writer. */
export function createWriter(options: WriterDeps): Writer {
  const { db, tables, reader, records, clock } = options;
  const statements = new Map<string, RowStatements>();
  const savepoint = {
    begin: db.prepare("SAVEPOINT applied"),
    undo: db.prepare("ROLLBACK TO applied"),
    end: db.prepare("RELEASE applied"),
  };
  const limits = createRowLimits(reader, clock);
  const values = createRowValues(tables, reader);

  const statementsOf = (layout: TableLayout): RowStatements => {
    const found = statements.get(layout.table) ?? prepareRowStatements(db, tables, layout);
    statements.set(layout.table, found);
    return found;
  };

  function create(resource: AnyResource, input: object, by: ActorContext, system: object): AnyRow {
    const row = createStaged(resource, input, by, system, options.nextKeyFor(tables.layout(resource).table));
    record(resource, null, row, by);
    runHook("afterWrite", resource, null, row, input, by);
    return row;
  }

  function announce(resource: AnyResource, row: AnyRow, by: ActorContext): void {
    record(resource, null, row, by);
    const given = Object.entries(row).filter(([name, value]) => name in resource.fields && value !== null);
    runHook("afterWrite", resource, null, row, Object.fromEntries(given), by);
  }

  /** Stores the row without its records; the database assigns the key when `pk` is null. */
  function createStaged(
    resource: AnyResource,
    input: object,
    by: ActorContext,
    system: object,
    pk: number | null,
  ): AnyRow {
    const layout = tables.layout(resource);
    const { checker, emptyRow } = statementsOf(layout);
    const { values: given, faults: errors } = checker.validate(input as Record<string, unknown>, "create");
    const now = clock.now();
    const after: AnyRow = {
      pk: 0,
      id: newId(),
      createdAt: now,
      updatedAt: now,
      domainId: tables.domainColumn(layout) ? by.scope.domainId : null,
      alsoIn: null,
      ...emptyRow(),
      ...sealSecrets(resource, given),
      ...system,
    };
    throwFieldErrors(errors.filter(({ field }) => !(field && field in system)));
    assertParentChangeable(resource, after, system, by);
    runHook("beforeWrite", resource, null, after, input, by);
    const viewer = referenceViewerFor(by, system, null);
    // A row that refers to itself has no key yet.
    const own = ownReferences(resource, after);
    const unlinked: AnyRow =
      own.length === 0 ? after : { ...after, ...Object.fromEntries(own.map((name) => [name, null])) };
    const columns = values.columns(layout, unlinked, viewer, null);
    if (!by.replicated) limits.check(layout, after);
    const { insert, update: write, columns: names, links } = statementsOf(layout);
    const inOrder = names.map((name) => columns[name] ?? null);
    after.pk = Number(guardUnique(layout, () => insert.run(inOrder, pk)).lastInsertRowid);
    if (own.length > 0) {
      const linked = values.columns(layout, after, viewer, unlinked);
      write(Object.keys(linked)).run(Object.values(linked), after.pk);
    }
    values.writeLinks(layout, links, { after, before: null }, viewer);
    return after;
  }

  /** Fields of a row that refer to the row itself. */
  function ownReferences({ name, fields }: AnyResource, row: AnyRow): string[] {
    const isOwn = (field: string): boolean => (row as Record<string, unknown>)[field] === row.id;
    return Object.entries(fields).flatMap(([field, spec]) =>
      spec.kind === "ref" && spec.to === name && isOwn(field) ? [field] : [],
    );
  }

  function update(resource: AnyResource, id: string, input: object, by: ActorContext, system: object): AnyRow {
    const before = reader.get(resource, id) as AnyRow | null;
    if (!before) throw notFound();
    return change(resource, before, input, by, system);
  }

  function change(resource: AnyResource, before: AnyRow, input: object, by: ActorContext, system: object): AnyRow {
    const layout = tables.layout(resource);
    assertChangeable(resource, before.id, by);
    const { checker, secrets, hashed } = statementsOf(layout);
    const { values: given, faults: errors } = checker.validate(input as Record<string, unknown>, "update");
    throwFieldErrors(errors);
    keepHiddenReferences(resource, before, given, by);
    const after: AnyRow = { ...before, ...mergeObjects(resource, before, sealSecrets(resource, given)), ...system };
    forgetLostReferences(resource, given, after);
    if (by.replicated) keepUnknownSecrets(hashed, before, after);
    runHook("beforeWrite", resource, before, after, input, by);
    if (secrets.length > 0) {
      const isGiven = (secret: string): boolean => given[secret] !== undefined || secret in system;
      const faults = secretsOfOtherTargets(resource.fields, { before, after, isGiven });
      if (!by.replicated) throwFieldErrors(faults);
      // Secrets do not replicate: the one that is kept here was given for the former target.
      for (const { field } of faults) (after as Record<string, unknown>)[String(field)] = null;
    }
    if (after.updatedAt === before.updatedAt && JSON.stringify(after) === JSON.stringify(before)) return before;
    // Strictly increasing, because If-Match uses it as the row version.
    if (!by.replicated) after.updatedAt = Math.max(clock.now(), before.updatedAt + 1);
    const viewer = referenceViewerFor(by, system, before);
    const columns = values.columns(layout, after, viewer, before);
    if (limits.hasEnded(layout, before) && !by.replicated) limits.check(layout, after);
    const { update: write, links } = statementsOf(layout);
    const names = Object.keys(columns);
    if (names.length > 0) guardUnique(layout, () => write(names).run(Object.values(columns), after.pk));
    values.writeLinks(layout, links, { after, before }, viewer);
    record(resource, before, after, by);
    runHook("afterWrite", resource, before, after, input, by);
    return after;
  }

  function apply(resource: AnyResource, id: string, row: object | null, by: ActorContext): void {
    const failed = inSavepoint(() => {
      const before = reader.get(resource, id) as AnyRow | null;
      if (row) upsert(resource, id, { row, before }, by);
      else if (before) remove(resource, id, by);
    });
    if (failed) throw failed.error;
  }

  function applyAll(rows: readonly AppliedRow[], by: ActorContext): boolean {
    return !inSavepoint(() => {
      for (const run of groupByResource(rows)) {
        const [{ resource }] = run;
        // Hooks may write one of the following rows, so read each row when its turn comes.
        const { beforeWrite, afterWrite } = options.hooksFor(resource);
        const known = beforeWrite || afterWrite ? null : readExisting(resource, run);
        for (const { id, row } of run) {
          const before = (known ? known.get(id.toLowerCase()) : reader.get(resource, id)) as AnyRow | undefined | null;
          upsert(resource, id, { row, before: before ?? null }, by);
        }
      }
    });
  }

  function readExisting(resource: AnyResource, rows: readonly AppliedRow[]): Map<string, AnyRow> {
    const ids = rows.map(({ id }) => id.toLowerCase());
    return new Map(reader.getByIds(resource, ids).map((row) => [row.id, row as AnyRow]));
  }

  function upsert(
    resource: AnyResource,
    id: string,
    { row, before }: { row: object; before: AnyRow | null },
    by: ActorContext,
  ) {
    if (before) change(resource, before, {}, by, row);
    else create(resource, {}, by, { ...row, id });
  }

  /** Runs `work` in a savepoint; returns the error after a rollback. */
  function inSavepoint(work: () => void): { error: unknown } | null {
    const eventCount = options.pendingEvents.count();
    savepoint.begin.run();
    try {
      work();
    } catch (error) {
      // A full disk rolls back the whole transaction.
      if (!db.inTransaction) throw error;
      savepoint.undo.run();
      savepoint.end.run();
      options.pendingEvents.forgetFrom(eventCount);
      resetCaches();
      return { error };
    }
    savepoint.end.run();
    return null;
  }

  function remove(
    resource: AnyResource,
    id: string,
    by: ActorContext,
    skip?: (from: AnyResource, field: string) => boolean,
  ) {
    const row = reader.get(resource, id) as AnyRow | null;
    if (!row) throw notFound();
    runHook("beforeWrite", resource, row, null, {}, by);
    for (const { from, field } of tables.catalogue.inboundReferences(resource)) {
      if (!skip?.(from, field)) detachReferences(from, field, row, by);
    }
    const layout = tables.layout(resource);
    for (const link of statementsOf(layout).links) link.clear.run(row.pk);
    guardStagedReferences(() => statementsOf(layout).remove.run(row.pk));
    limits.resetCounts();
    record(resource, row, null, by);
    runHook("afterWrite", resource, row, null, {}, by);
  }

  /** Append-only rows are exempt: modules write them for events in any domain. */
  function assertChangeable(resource: AnyResource, id: string, by: ActorContext): void {
    const changeable = resource.appendOnly ? "all" : by.scope.changeable.visible(resource);
    if (changeable !== "all" && reader.get(resource, id) && !reader.get(resource, id, by.scope.changeable)) {
      throw forbidden();
    }
  }

  /** A new sub-resource changes its parent, so the caller must be allowed to change the parent. */
  function assertParentChangeable(resource: AnyResource, row: AnyRow, system: object, by: ActorContext): void {
    if (resource.scope !== "parent" || resource.appendOnly) return;
    for (const name of visibilityReferences(resource)) {
      const spec = resource.fields[name];
      const id = row[name] as string | null;
      if (spec?.kind !== "ref" || !id || name in system || !tables.catalogue.has(spec.to)) continue;
      const target = tables.catalogue.byName(spec.to);
      // A missing parent is reported by the reference check.
      if (by.scope.changeable.visible(target) === "all") continue;
      if (!reader.get(target, id, by.scope.domainVisibility)) throw validationError([referenceNotFoundError(name, id)]);
      if (target.domainField !== "id") assertChangeable(target, id, by);
      else if (!by.scope.canAssign(id)) throw forbidden();
    }
  }

  /**
   * A caller cannot remove references that the caller does not see.
   * @source docs/decisions/0401-permission-rules.md, Delegation
   */
  function keepHiddenReferences(
    resource: AnyResource,
    before: AnyRow,
    values: Record<string, unknown>,
    by: ActorContext,
  ): void {
    for (const [name, value] of Object.entries(values)) {
      const spec = resource.fields[name];
      if ((spec?.kind !== "ref" && spec?.kind !== "many") || !tables.catalogue.has(spec.to)) continue;
      const target = tables.catalogue.byName(spec.to);
      if (by.scope.domainVisibility.visible(target) === "all") continue;
      const isHidden = (id: string): boolean => reader.get(target, id, by.scope.domainVisibility) === null;
      const held = before[name] as string | string[] | null;
      if (Array.isArray(held)) {
        const given = (value ?? []) as string[];
        values[name] = [...given, ...held.filter((id) => !given.includes(id) && isHidden(id))];
      } else if (value === null && held !== null && isHidden(held)) values[name] = held;
    }
  }

  /** Detaches the references to a row that is deleted: clears them, cascades, or refuses. */
  function detachReferences(from: AnyResource, field: string, target: AnyRow, by: ActorContext): void {
    const layout = tables.layout(from);
    const spec = from.fields[field];
    if (spec?.kind === "many") {
      const link = layout.links.find((candidate) => candidate.field === field);
      if (!link) return;
      const owners = reader.all<{ id: string }>(
        `SELECT o.id FROM ${link.table} l JOIN ${layout.table} o ON o.pk = l.owner WHERE l.target = ?`,
        target.pk,
      );
      if (spec.onDelete === "refuse" && owners.length > 0) throw inUseError(from, owners.length, by);
      const befores = readBeforeDetach(from, owners, by);
      const counter = spec.lostIn && layout.columnOf(spec.lostIn)?.name;
      if (counter)
        db.prepare(
          `UPDATE main.${layout.table} SET ${counter} = ${counter} + 1
           WHERE pk IN (SELECT owner FROM ${link.table} WHERE target = ?)`,
        ).run(target.pk);
      db.prepare(`DELETE FROM ${link.table} WHERE target = ?`).run(target.pk);
      for (const [at, { id }] of owners.entries()) recordTouched(from, id, befores[at] ?? null, by);
      return;
    }
    const column = layout.columnOf(field);
    if (spec?.kind !== "ref" || !column) return;
    const holders = reader.all<{ id: string }>(`SELECT id FROM ${layout.table} WHERE ${column.name} = ?`, target.pk);
    if (spec.onDelete === "refuse" && holders.length > 0) throw inUseError(from, holders.length, by);
    if (spec.onDelete === "clear") {
      const befores = readBeforeDetach(from, holders, by);
      db.prepare(`UPDATE main.${layout.table} SET ${column.name} = NULL WHERE ${column.name} = ?`).run(target.pk);
      for (const [at, { id }] of holders.entries()) recordTouched(from, id, befores[at] ?? null, by);
    } else if (from.appendOnly) {
      db.prepare(`DELETE FROM main.${layout.table} WHERE ${column.name} = ?`).run(target.pk);
    } else {
      for (const { id } of holders) if (reader.get(from, id)) remove(from, id, by);
    }
  }

  /** Who names targets again has seen that others were lost; an empty list that is only sent back says nothing. */
  function forgetLostReferences(resource: AnyResource, given: Readonly<Record<string, unknown>>, after: AnyRow): void {
    for (const [name, value] of Object.entries(given)) {
      const spec = resource.fields[name];
      if (spec?.kind !== "many" || !spec.lostIn || !Array.isArray(value) || value.length === 0) continue;
      (after as Record<string, unknown>)[spec.lostIn] = 0;
    }
  }

  /** Rows before a reference is detached; empty if they are not captured. */
  function readBeforeDetach(from: AnyResource, rows: readonly { id: string }[], by: ActorContext): (AnyRow | null)[] {
    return isCaptured(from, by) ? rows.map(({ id }) => reader.get(from, id) as AnyRow | null) : [];
  }

  function recordTouched(resource: AnyResource, id: string, before: AnyRow | null, by: ActorContext): void {
    if (before) captureChange(resource, before, reader.get(resource, id) as AnyRow | null, by);
    if (!resource.appendOnly) options.changed(records.appendChange(resource, id, "update"), resource, id, "update");
  }

  function isCaptured({ replicate }: AnyResource, by: ActorContext): boolean {
    return !by.replicated && replicate !== "local" && replicate !== "E" && options.changeCapture() !== null;
  }

  function captureChange(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: ActorContext): void {
    if (isCaptured(resource, by)) options.changeCapture()?.({ resource, before, after }, options.transaction(), by);
  }

  function record(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: ActorContext): void {
    if (by.idempotencyClaim && after) options.idempotency.recordRow(by.idempotencyClaim, resource.name, after.id);
    captureChange(resource, before, after, by);
    if (resource.appendOnly) return;
    options.searchIndex.markChanged(resource, before, after);
    const op = before === null ? "create" : after === null ? "delete" : "update";
    const { id } = (after ?? before) as AnyRow;
    const seq = records.appendChange(resource, id, op);
    records.appendAudit(resource, before, after, by);
    options.changed(seq, resource, id, op);
  }

  function runHook(
    when: "beforeWrite" | "afterWrite",
    resource: AnyResource,
    before: AnyRow | null,
    after: AnyRow | null,
    input: object,
    by: ActorContext,
  ): void {
    const hook = options.hooksFor(resource)[when];
    if (!hook) return;
    const op = before === null ? "create" : after === null ? "delete" : "update";
    hook(
      { op, before: before as never, after: after as never, given: new Set(Object.keys(input)) },
      options.transaction(),
      by,
    );
  }

  /** The other side does not know a secret that is not hashed yet, so it did not clear it. */
  function keepUnknownSecrets(hashed: readonly string[], before: AnyRow, after: Record<string, unknown>): void {
    for (const field of hashed) {
      const kept = before[field];
      if (after[field] === null && typeof kept === "string" && !isArgon2Hash(kept)) after[field] = kept;
    }
  }

  /** Seals secrets given in clear by callers; values from rows and system fields are sealed already. */
  function sealSecrets(resource: AnyResource, given: Record<string, unknown>): Record<string, unknown> {
    const { secrets, hashed } = statementsOf(tables.layout(resource));
    const inClear = secrets.filter((field) => typeof given[field] === "string");
    if (inClear.length === 0) return given;
    if (inClear.some((field) => hashed.includes(field)))
      throw new BugError("A secret is hashed before the transaction.", { resource: resource.name });
    const sealed = inClear.map((field) => [field, options.secrets.seal(given[field] as string)]);
    return { ...given, ...Object.fromEntries(sealed) };
  }

  function resetCaches(): void {
    limits.resetCounts();
    records.resetCache();
  }

  return { create, createStaged, announce, update, remove, apply, applyAll, assertChangeable, resetCaches };
}

/** Groups consecutive rows of the same resource, keeping the order. */
function groupByResource(rows: readonly AppliedRow[]): [AppliedRow, ...AppliedRow[]][] {
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

/** Throws BugError: the transaction has ended. */
export function closedTransaction(): never {
  throw new BugError("a transaction was used after its end");
}
