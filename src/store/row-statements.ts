import type Database from "better-sqlite3";
import { compileValidator, defaultOf, type Validator } from "../schema/validator.ts";
import { hashedFields } from "./secret-hashes.ts";
import type { TableLayout } from "./table-layout.ts";
import type { Tables } from "./tables.ts";

/** Prepared statements that write the rows of one table. */
export interface RowStatements {
  /** Binds the values of `columns` by position (many times faster than by name), then `pk`. */
  insert: Database.Statement;
  /**
   * Binds the values of these columns, then `pk`. Only the changed columns are set, so other indexes are not touched.
   */
  update(columns: readonly string[]): Database.Statement;
  columns: readonly string[];
  remove: Database.Statement;
  checker: Validator;
  /** Names of the secrets, and of those that are stored as hashes. */
  secrets: readonly string[];
  hashed: readonly string[];
  /** The default values of all stored fields. */
  emptyRow(): Record<string, unknown>;
  links: { field: string; clear: Database.Statement; add: Database.Statement }[];
}

/** Maximum number of prepared updates per table; callers choose the combinations of fields. */
const MAX_PREPARED_UPDATES = 64;

/** Prepares the statements of one table. */
export function prepareRowStatements(db: Database.Database, tables: Tables, layout: TableLayout): RowStatements {
  const names = ["id", "created_at", "updated_at", ...layout.columns.map((column) => column.name)];
  const domain = tables.domainColumn(layout);
  if (domain) names.push(domain, "also_in");
  const updates = new Map<string, Database.Statement>();
  const stored = Object.entries(layout.resource.fields).filter(([, spec]) => spec.kind !== "computed");
  return {
    insert: db.prepare(
      `INSERT INTO main.${layout.table} (${names.join(", ")}, pk) VALUES (${names.map(() => "?").join(", ")}, ?)`,
    ),
    update(columns) {
      const key = columns.join();
      const made =
        updates.get(key) ?? db.prepare(`UPDATE main.${layout.table} SET ${columns.join(" = ?, ")} = ? WHERE pk = ?`);
      if (updates.size >= MAX_PREPARED_UPDATES) updates.clear();
      updates.set(key, made);
      return made;
    },
    columns: names,
    remove: db.prepare(`DELETE FROM main.${layout.table} WHERE pk = ?`),
    checker: compileValidator(layout.resource.fields),
    secrets: layout.columns.flatMap(({ field, spec }) => (spec.kind === "secret" ? [field] : [])),
    hashed: hashedFields(layout.resource),
    emptyRow: () => Object.fromEntries(stored.map(([name, spec]) => [name, defaultOf(spec)])),
    links: layout.links.map((link) => ({
      field: link.field,
      clear: db.prepare(`DELETE FROM ${link.table} WHERE owner = ?`),
      add: db.prepare(`INSERT INTO ${link.table} (owner, position, target) VALUES (?, ?, ?)`),
    })),
  };
}
