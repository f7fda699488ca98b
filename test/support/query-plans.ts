import Database from "better-sqlite3";

/** Collects the text of every statement that is prepared while it runs. */
export interface StatementCollector {
  /** Distinct statements of each database, in the order of their first use. */
  readonly statements: ReadonlyMap<Database.Database, ReadonlySet<string>>;
  /** Stops collecting. */
  restore(): void;
}

/** Follows `prepare` of all databases that this process opens. */
export function collectStatements(): StatementCollector {
  const statements = new Map<Database.Database, Set<string>>();
  const prototype = Database.prototype as Pick<Database.Database, "prepare">;
  const original = prototype.prepare;
  prototype.prepare = function prepare(this: Database.Database, text: string) {
    const known = statements.get(this) ?? new Set();
    statements.set(this, known.add(text));
    return original.call(this, text);
  } as typeof original;
  return {
    statements,
    restore() {
      prototype.prepare = original;
    },
  };
}

/** A step of a plan that reads much of a large table. */
export interface PoorStep {
  sql: string;
  table: string;
  /** The line of EXPLAIN QUERY PLAN. */
  step: string;
  /** Rows that the planner expects to read. */
  rows: number;
}

/** Tables from this size on must not be scanned. */
const LARGE = 10_000;
/** An index that leaves more rows than this for equal values is a poor one. */
const MOST_ROWS_PER_VALUE = 20_000;
/** SQLite ends these after one row, or before the first: `max(pk)`, and visibility that hides everything. */
const READS_NOTHING = [/^SELECT \(SELECT max\(pk\) FROM/, /\band 0\) ORDER BY|\band 0\)$|WHERE 0\b/];

/**
 * Makes the planner of `db` believe in tables of these sizes, without rows in them. `distinct` has the number of values
 * of columns that repeat; others are taken for unique.
 */
export function pretendSizes(
  db: Database.Database,
  sizes: Readonly<Record<string, number>>,
  distinct: Readonly<Record<string, number>>,
): void {
  db.exec("ANALYZE sqlite_schema; ANALYZE; DELETE FROM sqlite_stat1");
  const insert = db.prepare("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)");
  for (const { name } of tablesOf(db)) {
    const rows = sizes[name] ?? DEFAULT_ROWS;
    const indexes = indexesOf(db, name);
    if (indexes.length === 0) insert.run(name, null, String(rows));
    for (const { index, isUnique, isPartial } of indexes) {
      const columns = db.prepare("SELECT name FROM pragma_index_info(?)").pluck().all(index) as (string | null)[];
      const held = isPartial ? Math.max(1, Math.round(rows / 1_000)) : rows;
      const perPrefix = columns.map((_, at) => {
        if (isUnique && at === columns.length - 1) return 1;
        const values = columns
          .slice(0, at + 1)
          .reduce((count, column) => count * (distinct[`${name}.${column}`] ?? distinct[column ?? ""] ?? held), 1);
        return Math.max(1, Math.round(held / values));
      });
      insert.run(name, index, [held, ...perPrefix].join(" "));
    }
  }
  db.exec("ANALYZE sqlite_schema");
}

/** Tables of unknown size are small. */
const DEFAULT_ROWS = 200;

function tablesOf(db: Database.Database): { name: string }[] {
  return db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND rootpage > 0")
    .all() as { name: string }[];
}

function indexesOf(db: Database.Database, table: string): { index: string; isUnique: boolean; isPartial: boolean }[] {
  const found = db.prepare('SELECT name, "unique", partial FROM pragma_index_list(?)').all(table);
  return (found as { name: string; unique: number; partial: number }[]).map(({ name, unique, partial }) => ({
    ...{ index: name, isUnique: unique === 1, isPartial: partial === 1 },
  }));
}

/** The steps of a statement that read much of a large table; none for statements without a plan. */
export function findPoorSteps(db: Database.Database, sql: string): PoorStep[] {
  if (!/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE|REPLACE)\b/i.test(sql)) return [];
  if (READS_NOTHING.some((pattern) => pattern.test(sql))) return [];
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`);
  const lines = plan.all(...placeholderValues(sql)) as { detail: string }[];
  const tables = tablesByAlias(db, sql);
  return lines.flatMap(({ detail }) => {
    const [, verb, alias] = /^(SCAN|SEARCH) (?:main\.)?(\w+)/.exec(detail) ?? [];
    if (!verb || !alias) return [];
    const large = [...(tables.get(alias) ?? [])].map((table) => ({ table, rows: sizeOf(db, table) }));
    const [worst] = large.filter(({ rows }) => rows >= LARGE).sort((a, b) => b.rows - a.rows);
    if (!worst) return [];
    const isWhole = verb === "SCAN" || detail.includes("AUTOMATIC") || isOpenRange(sql, detail);
    const rows = isWhole ? scanned(db, detail, worst) : found(db, detail);
    return rows > (verb === "SCAN" ? LARGE : MOST_ROWS_PER_VALUE)
      ? [{ sql, table: worst.table, step: detail, rows }]
      : [];
  });
}

/** A range of keys without a limit to the number of rows. */
function isOpenRange(sql: string, detail: string): boolean {
  return /\(rowid[<>]\?\)/.test(detail) && !/\bLIMIT\b/i.test(sql);
}

/** A scan of a partial index reads the rows of the index only. */
function scanned(db: Database.Database, detail: string, { rows }: { rows: number }): number {
  const index = indexOf(detail);
  return (index && statOf(db, index)[0]) || rows;
}

/** Rows for equal values of the columns that the step compares with `=`; a range is taken for a narrow one. */
function found(db: Database.Database, detail: string): number {
  const index = indexOf(detail);
  const terms = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?:LEFT-JOIN)?$/.exec(detail)?.[1] ?? "";
  const equal = terms.split(" AND ").filter((term) => /[^<>]=\?/.test(term)).length;
  const isRange = terms.split(" AND ").length > equal;
  if (!index || equal === 0 || isRange) return 1;
  return statOf(db, index)[equal] ?? 1;
}

const indexOf = (detail: string): string | undefined => /USING (?:COVERING )?INDEX (\w+)/.exec(detail)?.[1];

function statOf(db: Database.Database, index: string): number[] {
  const stat = db.prepare("SELECT stat FROM sqlite_stat1 WHERE idx = ?").pluck().get(index) as string | undefined;
  return (stat ?? "").split(" ").map(Number);
}

function sizeOf(db: Database.Database, table: string): number {
  const stats = db.prepare("SELECT stat FROM sqlite_stat1 WHERE tbl = ?").pluck().all(table) as string[];
  return Math.max(0, ...stats.map((stat) => Number(stat.split(" ")[0])));
}

/** Values for the placeholders, because binding is checked for EXPLAIN too. */
function placeholderValues(sql: string): unknown[] {
  const bare = sql.replace(/'(?:[^']|'')*'/g, "''");
  const named = [...bare.matchAll(/[:@$]([A-Za-z]\w*)/g)].map(([, name]) => [name as string, 1] as const);
  const numbered = [...bare.matchAll(/\?(\d+)/g)].map(([, digits]) => Number(digits));
  const positional = [...bare.matchAll(/\?(?!\d)/g)].length;
  const values = Array.from({ length: Math.max(positional, ...numbered, 0) }, () => 1);
  return named.length > 0 ? [...values, Object.fromEntries(named)] : values;
}

const FROM = /\b(?:FROM|JOIN|UPDATE|INTO)\s+(?:"?main"?\.)?"?(\w+)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?/gi;
const AFTER_COMMA = /,\s*(?:"?main"?\.)?"?(\w+)"?\s+(?:AS\s+)?"?(\w+)"?/gi;

/** Every name by which the statement refers to a table; an alias may stand for several in different parts of it. */
function tablesByAlias(db: Database.Database, sql: string): Map<string, Set<string>> {
  const names = new Set(tablesOf(db).map(({ name }) => name));
  const byAlias = new Map<string, Set<string>>();
  for (const [, table = "", alias] of [...sql.matchAll(FROM), ...sql.matchAll(AFTER_COMMA)]) {
    if (!names.has(table)) continue;
    for (const name of [table, alias ?? table]) byAlias.set(name, (byAlias.get(name) ?? new Set()).add(table));
  }
  return byAlias;
}
