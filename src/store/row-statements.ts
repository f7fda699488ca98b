import type Database from "better-sqlite3";
import { type Checker, compileChecker } from "../schema/check.ts";
import type { Layout } from "./layout.ts";
import type { Tables } from "./tables.ts";

/** What writes the rows of one table. */
export interface RowStatements {
  /** Takes the values of `columns` in order, which binds many times faster than names do, and `pk` last. */
  insert: Database.Statement;
  /** As `insert`, and `pk` last. */
  update: Database.Statement;
  columns: readonly string[];
  remove: Database.Statement;
  checker: Checker;
  links: { field: string; clear: Database.Statement; add: Database.Statement }[];
}

/** Prepares it. */
export function prepareRowStatements(db: Database.Database, tables: Tables, layout: Layout): RowStatements {
  const names = ["id", "created_at", "updated_at", ...layout.columns.map((column) => column.name)];
  const domain = tables.domainColumn(layout);
  if (domain) names.push(domain, "also_in");
  return {
    insert: db.prepare(
      `INSERT INTO main.${layout.table} (${names.join(", ")}, pk) VALUES (${names.map(() => "?").join(", ")}, ?)`,
    ),
    update: db.prepare(`UPDATE main.${layout.table} SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE pk = ?`),
    columns: names,
    remove: db.prepare(`DELETE FROM main.${layout.table} WHERE pk = ?`),
    checker: compileChecker(layout.resource.fields),
    links: layout.links.map((link) => ({
      field: link.field,
      clear: db.prepare(`DELETE FROM ${link.table} WHERE owner = ?`),
      add: db.prepare(`INSERT INTO ${link.table} (owner, position, target) VALUES (?, ?, ?)`),
    })),
  };
}
