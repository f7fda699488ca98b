import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { openPostgresConnection, type PostgresConnection } from "../../../src/ha/postgres-connection.ts";
import { NODE_LOCK_CLASS, SCHEMA_SQL } from "../../../src/ha/postgres-schema.ts";
import { createTables } from "../../../src/ha/tenant-database.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

const postgres = externalProgram("pg_ctlcluster");
const TIMEOUT_MS = 120_000;

/** Rows as release 0.1 stored them: table, key, image. */
const OLD_ROWS = [
  ["broadcast_due", '[7,"expire","x"]', '{"notification":7,"kind":"expire","ref":"x","at":1,"decided":null}'],
  ["once_keys", '["o","k"]', '{"owner":"o","key":"k","sha":"\\u00e4b","at":9007199254740991,"answer":null}'],
  ["once_keys", '["o","gone"]', null],
  ["sqlite_sequence", '["alarm_firings"]', '{"name":"alarm_firings","seq":42}'],
  ["users", "[1]", '{"pk":1,"name":"once_keys"}'],
  [
    "deliveries",
    "[1]",
    '{"pk":1,"reason":"The sound was over when it answered: it only shows the message.","level":"accepted"}',
  ],
];
const NEW_ROWS = [
  [
    "deliveries",
    "[1]",
    '{"pk":1,"reason":"The audio had ended before this device responded; text only.","level":"accepted"}',
  ],
  ["idempotency_keys", '["o","gone"]', null],
  [
    "idempotency_keys",
    '["o","k"]',
    '{"owner":"o","key":"k","request_hash":"\\u00e4b","at":9007199254740991,"response":null}',
  ],
  ["notification_timers", '[7,"expire","x"]', '{"notification":7,"kind":"expire","ref":"x","at":1,"decided":null}'],
  ["sqlite_sequence", '["alarm_pending_actions"]', '{"name":"alarm_pending_actions","seq":42}'],
  ["users", "[1]", '{"pk":1,"name":"once_keys"}'],
];

postgres.describe("the rows that nodes share in PostgreSQL", () => {
  let server: TestPostgres;
  let client: pg.Client;
  let connection: PostgresConnection;
  beforeAll(async () => {
    server = await startPostgres();
  }, TIMEOUT_MS);
  afterAll(() => server?.stop());
  beforeEach(async () => {
    client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${SCHEMA_SQL}`);
    await client.query("INSERT INTO carillon_organisations (name) VALUES ('north')");
    for (const [at, [table, key, image]] of OLD_ROWS.entries())
      await client.query("INSERT INTO carillon_rows VALUES (1, $1, $2, $3, $4)", [table, key, at + 1, image]);
    connection = await openPostgresConnection({
      config: { connectionString: server.url },
      clock: systemClock,
      onFault: () => undefined,
    });
    await connection.waitUntilReady(TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterEach(async () => {
    await connection.close();
    await client.end();
  });

  const rows = async (): Promise<unknown[][]> =>
    (await client.query({ text: "SELECT tab, key, image FROM carillon_rows ORDER BY tab, key", rowMode: "array" }))
      .rows;

  it("get the names of this release once, with their order and numbers kept", async () => {
    await createTables(connection);
    expect(await rows()).toEqual(NEW_ROWS);
    await createTables(connection);
    expect(await rows()).toEqual(NEW_ROWS);
    const { rows: applied } = await client.query("SELECT name FROM carillon_migrations ORDER BY name");
    expect(applied).toEqual([{ name: "0001-standard-table-names" }, { name: "0002-missed-audio-reasons" }]);
  });

  it("are left alone while a node of an earlier release runs", async () => {
    await client.query(`SELECT pg_advisory_lock_shared(${NODE_LOCK_CLASS}, 1)`);
    await expect(createTables(connection)).rejects.toThrow("Stop all of them, then start this one.");
    expect((await rows()).map(([table]) => table)).toContain("once_keys");
    await client.query(`SELECT pg_advisory_unlock_shared(${NODE_LOCK_CLASS}, 1)`);
    await createTables(connection);
    expect(await rows()).toEqual(NEW_ROWS);
  });

  it("need no migration in a new database, whoever runs", async () => {
    await client.query("DELETE FROM carillon_rows");
    await client.query(`SELECT pg_advisory_lock_shared(${NODE_LOCK_CLASS}, 1)`);
    await createTables(connection);
    expect((await client.query("SELECT name FROM carillon_migrations")).rowCount).toBe(2);
  });
});
