import type Database from "better-sqlite3";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";

/** What SQLite knows of how many rows each index leaves; it chooses indexes by that. */
export interface TableStatistics {
  /**
   * Renews the statistics of tables whose size has changed about tenfold since the last time, each in a write transaction
   * that `write` runs. Resolves with their names.
   */
  refresh(write: (work: () => void) => Promise<void>): Promise<string[]>;
  /** As `refresh`, at once, for at most `budgetMs`. */
  refreshNow(budgetMs: number): string[];
}

/** Rows per index that are looked at: a table takes about a millisecond, whatever its size. */
const SAMPLE_ROWS = 400;

/**
 * Smaller tables get none: they cost little to read, and a table that is filled at once would be read by a plan for its few
 * first rows.
 */
const MIN_ROWS = 1_000;

/** Lists what to do instead of doing it, for all tables. @source sqlite.org/pragma.html, optimize: mask -1 */
const LIST_ALL = "optimize(-1)";

const ANALYZE = /^ANALYZE "main"\."(\w+)"$/;

/** @source docs/decisions/0762-statistics-of-tables.md */
export function createTableStatistics(db: Database.Database, clock: Clock): TableStatistics {
  db.pragma(`analysis_limit = ${SAMPLE_ROWS}`);
  const isLarge = (table: string): boolean =>
    db.prepare(`SELECT 1 FROM main."${table}" LIMIT 1 OFFSET ${MIN_ROWS - 1}`).get() !== undefined;
  /** Small tables are listed each time. */
  const listed = (): string[] =>
    (db.pragma(LIST_ALL) as { optimize: string }[]).flatMap(({ optimize }) => ANALYZE.exec(optimize)?.[1] ?? []);
  const analyze = (table: string): void => void db.exec(`ANALYZE main."${table}"`);
  return {
    async refresh(write) {
      const done: string[] = [];
      for (const table of listed()) {
        await yieldToEventLoop(clock);
        if (!db.open) break;
        if (!isLarge(table)) continue;
        await write(() => analyze(table));
        done.push(table);
      }
      return done;
    },
    refreshNow(budgetMs) {
      const began = clock.monotonicMs();
      const done: string[] = [];
      const run = db.transaction(() => {
        for (const table of listed()) {
          if (clock.monotonicMs() - began > budgetMs) break;
          if (!isLarge(table)) continue;
          analyze(table);
          done.push(table);
        }
      });
      run();
      return done;
    },
  };
}
