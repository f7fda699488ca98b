import type Database from "better-sqlite3";

/** A change of stored names or forms that runs once for each data folder. */
export interface Migration {
  /** `NNNN-name`, as the file is called. Migrations run in the order of their names. */
  name: string;
  /** Changes the database. Runs inside a transaction, with foreign keys not enforced. */
  up(db: Database.Database): void;
}

/** Old and new names of tables. */
export type TableNames = Readonly<Record<string, string>>;

/** A renamed column: new table name, old column name, new column name. */
export type ColumnRename = readonly [table: string, from: string, to: string];

/**
 * Renames tables and their columns. A table that the database does not have is skipped: a data folder holds the tables of
 * the modules that its release had. Indexes named `<old table>__…` are dropped, as the schema creates them by the new name.
 */
export function renameTables(db: Database.Database, tables: TableNames, columns: readonly ColumnRename[] = []): void {
  const exists = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").pluck();
  const indexesOf = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
  );
  for (const [from, to] of Object.entries(tables)) {
    if (exists.get(from) === undefined) continue;
    for (const index of indexesOf.pluck().all(from) as string[]) db.exec(`DROP INDEX ${quoted(index)}`);
    db.exec(`ALTER TABLE ${quoted(from)} RENAME TO ${quoted(to)}`);
  }
  const columnNames = db.prepare("SELECT name FROM pragma_table_info(?)").pluck();
  for (const [table, from, to] of columns) {
    if (!columnNames.all(table).includes(from)) continue;
    db.exec(`ALTER TABLE ${quoted(table)} RENAME COLUMN ${quoted(from)} TO ${quoted(to)}`);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
