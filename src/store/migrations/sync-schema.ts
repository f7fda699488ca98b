import type Database from "better-sqlite3";
import auditEntries from "../../resources/security/audit-entries.ts";
import { defaultOf } from "../../schema/validator.ts";
import type { InternalTable } from "../store.ts";
import { buildTableLayout, encodeColumnValue, ignoresCase, type TableLayout } from "../table-layout.ts";
import type { Tables } from "../tables.ts";

/**
 * Tables of the store itself, beside those of declarations and rooms.
 * @source docs/decisions/0017-store.md, docs/decisions/0040-replication.md
 */
const STORE_TABLES = `
CREATE TABLE IF NOT EXISTS store_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, row_id TEXT NOT NULL, op TEXT NOT NULL, class TEXT NOT NULL,
  at INTEGER NOT NULL, UNIQUE (type, row_id)) STRICT;`;

/** A replaced row is deleted without its trigger, so none may come under a number that is taken. */
const AUDIT_TRIGGERS = [
  ["update", "UPDATE ON audit_entries"],
  ["delete", "DELETE ON audit_entries"],
  ["replace", "INSERT ON audit_entries WHEN EXISTS (SELECT 1 FROM audit_entries WHERE pk = NEW.pk OR id = NEW.id)"],
]
  .map(
    ([name, when]) =>
      `CREATE TRIGGER IF NOT EXISTS audit_no_${name} BEFORE ${when} BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;`,
  )
  .join("\n");

/**
 * Brings the database to the declarations in one transaction: missing tables, columns (always nullable) and indexes are
 * made; nothing is ever dropped here.
 */
export function syncSchema(db: Database.Database, tables: Tables, roomTables: readonly InternalTable[]): void {
  db.transaction(() => {
    db.exec(STORE_TABLES);
    const layouts = withAuditTable(tables);
    for (const layout of layouts) createTable(db, tables, layout);
    for (const layout of layouts) addColumns(db, tables, layout);
    for (const layout of layouts) createLinkTables(db, layout);
    for (const layout of layouts) createIndexes(db, tables, layout);
    db.exec(AUDIT_TRIGGERS);
    for (const table of roomTables) db.exec(table.sql);
  }).immediate();
}

/** Every write leaves an entry in the audit, whether or not its declaration is among those of the API. */
function withAuditTable({ catalogue, layouts }: Tables): readonly TableLayout[] {
  return catalogue.has(auditEntries.name) ? layouts : [...layouts, buildTableLayout(auditEntries, catalogue)];
}

/** A whole table at once: SQLite reads its whole schema again for every column added later. */
function createTable(db: Database.Database, tables: Tables, layout: TableLayout): void {
  const columns = ["pk INTEGER PRIMARY KEY", "id TEXT NOT NULL UNIQUE", "created_at INTEGER NOT NULL"];
  columns.push(
    "updated_at INTEGER NOT NULL",
    ...columnDefinitions(tables, layout).map(([name, sql]) => `${name} ${sql}`),
  );
  db.exec(`CREATE TABLE IF NOT EXISTS ${layout.table} (${columns.join(", ")}) STRICT`);
}

function addColumns(db: Database.Database, tables: Tables, layout: TableLayout): void {
  const present = db.pragma(`table_info(${layout.table})`) as { name: string }[];
  const names = new Set(present.map((column) => column.name));
  for (const [name, sql] of columnDefinitions(tables, layout)) {
    if (!names.has(name))
      db.exec(`ALTER TABLE ${layout.table} ADD COLUMN ${name} ${sql}${defaultClause(layout, name)}`);
  }
}

/** Rows that were there before a field was declared hold what a new row would that does not give it. */
function defaultClause(layout: TableLayout, name: string): string {
  const spec = layout.columns.find((column) => column.name === name)?.spec;
  const value = spec ? encodeColumnValue(spec, defaultOf(spec)) : null;
  if (value === null) return "";
  return ` DEFAULT ${typeof value === "number" ? value : `'${value.replaceAll("'", "''")}'`}`;
}

/** The columns that depend on the declaration, each with its type in SQL. */
function columnDefinitions(tables: Tables, layout: TableLayout): [name: string, sql: string][] {
  const own = layout.columns.map(({ name, type, target }): [string, string] => [
    name,
    target ? `${type} REFERENCES ${target}(pk)` : type,
  ]);
  if (!tables.domainColumn(layout)) return own;
  return [["domain_pk", "INTEGER REFERENCES domains(pk)"], ["also_in", "TEXT"], ...own];
}

function createLinkTables(db: Database.Database, layout: TableLayout): void {
  for (const link of layout.links) {
    db.exec(`CREATE TABLE IF NOT EXISTS ${link.table} (
      owner INTEGER NOT NULL REFERENCES ${layout.table}(pk), position INTEGER NOT NULL,
      target INTEGER NOT NULL REFERENCES ${link.target}(pk), PRIMARY KEY (owner, position)) STRICT, WITHOUT ROWID`);
    db.exec(`CREATE INDEX IF NOT EXISTS ${link.table}_target ON ${link.table}(target)`);
  }
}

function createIndexes(db: Database.Database, tables: Tables, layout: TableLayout): void {
  const { table, columns } = layout;
  const sorted = (field: string): string => {
    const column = layout.columnOf(field);
    if (field === "id") return "id";
    if (field === "createdAt") return "created_at";
    return column ? `${column.name}${ignoresCase(column.spec) ? " COLLATE NOCASE" : ""}` : "";
  };
  const make = (unique: boolean, parts: string[]): void => {
    const name = `${table}__${parts.map((part) => part.split(" ")[0]).join("__")}${unique ? "__unique" : ""}`;
    db.exec(`CREATE ${unique ? "UNIQUE " : ""}INDEX IF NOT EXISTS ${name} ON ${table}(${parts.join(", ")})`);
  };
  make(false, ["created_at", "id"]);
  if (tables.domainColumn(layout)) {
    make(false, ["domain_pk"]);
    db.exec(`CREATE INDEX IF NOT EXISTS ${table}__also_in ON ${table}(also_in) WHERE also_in IS NOT NULL`);
  }
  for (const column of columns) {
    if (column.target) make(false, [column.name]);
    if ("unique" in column.spec && column.spec.unique) make(true, [sorted(column.field)]);
    if ("index" in column.spec && column.spec.index) make(false, [column.name]);
    if (column.name === "name") make(false, ["name COLLATE NOCASE", "id"]);
  }
  for (const fields of layout.resource.unique ?? []) make(true, fields.map(sorted).filter(Boolean));
  for (const fields of layout.resource.indexes ?? []) make(false, fields.map(sorted).filter(Boolean));
  for (const [name, { fields, where }] of Object.entries(layout.resource.partialIndexes ?? {})) {
    const parts = fields.map(sorted).filter(Boolean).join(", ");
    db.exec(`CREATE INDEX IF NOT EXISTS ${table}__${name} ON ${table}(${parts}) WHERE ${where}`);
  }
}
