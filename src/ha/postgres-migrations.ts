import { RENAMED_COLUMNS, RENAMED_TABLES } from "../store/migrations/0001-standard-table-names.ts";
import { REWORDED_REASONS } from "../store/migrations/0002-missed-audio-reasons.ts";
import { NODE_LOCK_CLASS } from "./postgres-schema.ts";

/** A versioned change of the rows that the nodes of a cloud share. Its SQL is the body of a PL/pgSQL block. */
export interface PostgresMigration {
  /** `NNNN-name`, as the store's migration of the same change is called. */
  name: string;
  /** Is true in SQL where there is something to change: nodes of another release must not run then. */
  condition: string;
  sql: string;
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const valuesOf = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `(${row.map(literal).join(", ")})`).join(", ");

const TABLES = valuesOf(Object.entries(RENAMED_TABLES));
const COLUMNS = valuesOf(RENAMED_COLUMNS);
/** With their quotes, as an image holds a whole reason. */
const REASONS = valuesOf(REWORDED_REASONS.map((pair) => pair.map((reason) => JSON.stringify(reason))));

/**
 * All migrations, oldest first. The shared rows name tables and columns as SQLite does, so each migration of the store
 * that renames some has its counterpart here. The order of the members of an image stays: nodes compare images as
 * texts.
 */
const POSTGRES_MIGRATIONS: readonly PostgresMigration[] = [
  {
    name: "0001-standard-table-names",
    condition: `EXISTS (SELECT FROM carillon_rows r JOIN (VALUES ${TABLES}) v(old, new) ON r.tab = v.old)`,
    sql: `
      UPDATE carillon_rows r SET tab = v.new FROM (VALUES ${TABLES}) v(old, new) WHERE r.tab = v.old;
      UPDATE carillon_rows r SET key = '["' || v.new || '"]', image = replace(r.image, '"' || v.old || '"', '"' || v.new || '"')
        FROM (VALUES ${TABLES}) v(old, new) WHERE r.tab = 'sqlite_sequence' AND r.key = '["' || v.old || '"]';
      UPDATE carillon_rows r SET image = (
        SELECT '{' || string_agg(to_json(coalesce(c.new, e.key))::text || ':' || e.value::text, ',' ORDER BY e.n) || '}'
        FROM json_each(r.image::json) WITH ORDINALITY e(key, value, n)
        LEFT JOIN (VALUES ${COLUMNS}) c(tab, old, new) ON c.tab = r.tab AND c.old = e.key)
      WHERE r.image IS NOT NULL AND r.tab IN (SELECT tab FROM (VALUES ${COLUMNS}) c(tab, old, new));`,
  },
  {
    name: "0002-missed-audio-reasons",
    condition: `EXISTS (SELECT FROM carillon_rows r JOIN (VALUES ${REASONS}) v(old, new)
      ON r.tab = 'deliveries' AND position(v.old IN r.image) > 0)`,
    sql: `
      UPDATE carillon_rows r SET image = replace(r.image, v.old, v.new) FROM (VALUES ${REASONS}) v(old, new)
        WHERE r.tab = 'deliveries' AND position(v.old IN r.image) > 0;`,
  },
];

/**
 * SQL that brings the shared rows to this release, for the transaction that holds the schema lock. It fails with
 * `object_in_use` when a node of another release runs: that node would go on writing the old names.
 */
export function migrationSql(migrations: readonly PostgresMigration[] = POSTGRES_MIGRATIONS): string {
  const blocks = migrations.map(
    ({ name, condition, sql }) => `
    IF NOT EXISTS (SELECT FROM carillon_migrations WHERE name = ${literal(name)}) THEN
      IF ${condition} THEN
        FOR tenant IN SELECT id FROM carillon_organisations LOOP
          IF NOT pg_try_advisory_xact_lock(${NODE_LOCK_CLASS}, tenant) THEN
            RAISE EXCEPTION USING ERRCODE = 'object_in_use', MESSAGE =
              'Nodes of an earlier Carillon release use this database. Stop all of them, then start this one.';
          END IF;
        END LOOP;
        ${sql}
      END IF;
      INSERT INTO carillon_migrations (name) VALUES (${literal(name)});
    END IF;`,
  );
  return `
  CREATE TABLE IF NOT EXISTS carillon_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
  DO $migrate$ DECLARE tenant integer; BEGIN ${blocks.join("")} END $migrate$;`;
}
