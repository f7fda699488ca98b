import pg from "pg";
import type { RowImage } from "../../src/store/shared-log.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A real database in which a run keeps its cloud, and what is done to it from outside. */
export interface SimDatabase {
  url: string;
  /** A name that no organisation has. */
  name(): string;
  /** Begins to copy an organisation as it is now, and gives the name of the copy. */
  copy(organisation: string): string;
  /** Begins to remove one. */
  remove(organisation: string): void;
  /** The rows that it has of an organisation, in the order of their tables and keys. */
  rows(organisation: string): Promise<RowImage[]>;
  /** Ends the server's side of a connection; resolves once it is gone. */
  gone(pid: number): Promise<void>;
}

/** In whose run it is: time stands still while the database works. `violated` is told where it can't. */
export interface SimDatabaseDeps {
  time: Pick<VirtualTime, "hold">;
  violated(error: unknown): void;
}

const ROWS = `SELECT json_agg(json_build_object('table', tab, 'key', key, 'image', image) ORDER BY tab, key) AS rows FROM carillon_rows
  WHERE organisation = (SELECT id FROM carillon_organisations WHERE name = $1) AND image IS NOT NULL`;

const COPY = `WITH made AS (
    INSERT INTO carillon_organisations (name, seq, floor, term, holder, version, last_write, history)
    SELECT $2, seq, floor, term, holder, version, last_write, history FROM carillon_organisations WHERE name = $1
    RETURNING id)
  INSERT INTO carillon_rows (organisation, tab, key, seq, image)
  SELECT made.id, tab, key, carillon_rows.seq, image FROM made, carillon_rows
  WHERE organisation = (SELECT id FROM carillon_organisations WHERE name = $1)`;

/** Connects. */
export async function openSimDatabase(
  url: string,
  run: string,
): Promise<{ during(of: SimDatabaseDeps): SimDatabase; close(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let made = 0;
  let last: Promise<unknown> = Promise.resolve();
  const name = (): string => {
    made += 1;
    return `${run} ${made}`;
  };
  return {
    async close() {
      // What was begun last may go on with more.
      for (let known: unknown = null; known !== last; await new Promise(setImmediate)) {
        known = last;
        await last;
      }
      await client.end();
    },
    during({ time, violated }) {
      /** One after the other, in the order in which they were begun. */
      const say = <R extends pg.QueryResultRow>(sql: string, values: unknown[]): Promise<R | null> => {
        const done = time.hold();
        const said = last
          .then(() => client.query<R>(sql, values))
          .then(
            ({ rows }) => rows[0] ?? null,
            (error) => {
              violated(error);
              return null;
            },
          );
        last = said;
        return said.finally(() => setImmediate(done));
      };
      return {
        url,
        name,
        copy(organisation) {
          const copied = name();
          void say(COPY, [organisation, copied]);
          return copied;
        },
        remove: (organisation) => void say("DELETE FROM carillon_organisations WHERE name = $1", [organisation]),
        rows: async (organisation) => (await say<{ rows: RowImage[] | null }>(ROWS, [organisation]))?.rows ?? [],
        async gone(pid) {
          const done = time.hold();
          // It says so while there is such a process; its locks are free before it is gone.
          while ((await say<{ ends: boolean }>("SELECT pg_terminate_backend($1) AS ends", [pid]))?.ends);
          done();
        },
      };
    },
  };
}
