import { userInfo } from "node:os";
import type { Duplex } from "node:stream";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { SharedLog } from "../store/shared-log.ts";
import { createLeadership, type Leadership } from "./leadership.ts";
import { createPostgresBlobStore, type PostgresBlobStore } from "./postgres-blob-store.ts";
import { openPostgresConnection, type PostgresConnection } from "./postgres-connection.ts";
import { createPostgresRowLog } from "./postgres-row-log.ts";
import { migrationSql } from "./postgres-migrations.ts";
import { NODE_LOCK_CLASS, SCHEMA_LOCK, SCHEMA_SQL } from "./postgres-schema.ts";

/** What a node of a cloud comes to its database with. */
export interface TenantDatabaseDeps {
  /** `postgres://user@host:port/database`; the password may come by PGPASSWORD. */
  url: string;
  /** Which of the organisations that share the database. */
  name: string;
  /** Who this node is, for people to read. */
  node: string;
  /** Where the node keeps files. */
  filesDir: string;
  version: string;
  clock: Clock;
  /** Makes the driver's way to the server; a socket of its own unless given. */
  stream?(): Duplex;
  onFault(error: unknown): void;
}

/** Where the organisation stands. */
export interface TenantHead {
  seq: number;
  /** Rows that are gone are forgotten up to here: a copy that stands lower is made anew. */
  floor: number;
  /** The Carillon that wrote last; null before the first. */
  version: string | null;
  /** What its numbers are of: another one since the database was brought back from a backup. */
  history: string;
}

/** One organisation in a database of many, for one node. Whatever asks the database throws UpstreamError when it is not there. */
export interface TenantDatabase {
  readonly log: SharedLog;
  readonly leadership: Leadership;
  readonly files: PostgresBlobStore;
  readHead(): Promise<TenantHead>;
  /** How many rows of each table there are. */
  countRows(): Promise<ReadonlyMap<string, number>>;
  /** Puts what all nodes need under a name where there is nothing yet, and gives what counts; sealed unless it is no secret. */
  proposeSetting(name: string, proposed: string): Promise<string>;
  /** What was agreed on; null for nothing. */
  readSetting(name: string): Promise<string | null>;
  /** Another node wrote; a hint. */
  onChange(listener: () => void): void;
  /** Forgets rows that are gone, but the newest `kept`. */
  pruneTombstones(kept: number): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 8_000;
/** Hints to other nodes at most so often: each takes a lock of the whole server. @source replication.md 8 */
const NOTIFY_INTERVAL_MS = 50;

/** @source PostgreSQL error codes, class 55 */
const OBJECT_IN_USE = "55006";

/** Connects, and makes the organisation where there is none of that name. Throws UpstreamError. */
export async function openTenantDatabase(needs: TenantDatabaseDeps): Promise<TenantDatabase> {
  const { clock } = needs;
  const config = {
    connectionString: withDefaultUser(needs.url),
    application_name: `carillon ${needs.node}`.slice(0, 63),
  };
  const { stream } = needs;
  const listeners = new Set<() => void>();
  const common = { config: stream ? { ...config, stream } : config, clock, onFault: needs.onFault };
  let isThere: string | null = null;
  const reader = await openPostgresConnection({
    ...common,
    async onConnect(client) {
      await client.query("LISTEN carillon");
      if (isThere !== null) await client.query(isThere);
    },
    onNotice() {
      for (const listener of listeners) listener();
    },
  });
  const writer = await openPostgresConnection(common);
  const keeper = await openPostgresConnection(common);
  const all = [reader, writer, keeper];
  const close = async (): Promise<void> => void (await Promise.all(all.map((each) => each.close())));
  try {
    await Promise.all(all.map((each) => each.waitUntilReady(CONNECT_TIMEOUT_MS)));
    const organisation = await ensureTenant(writer, needs.name);
    isThere = `SELECT pg_advisory_lock_shared(${NODE_LOCK_CLASS}, ${organisation})`;
    await reader.query(isThere);
    const files = createPostgresBlobStore({ connection: reader, organisation, dir: needs.filesDir });
    const leadership = createLeadership({ connection: keeper, organisation, node: needs.node, clock });
    const { version } = needs;
    const log = createPostgresRowLog({
      organisation,
      writer,
      reader,
      leadership,
      files,
      version,
      notify: createNotifier(keeper, clock),
    });
    return {
      ...{ log, leadership, files, ...createQueries(reader, organisation) },
      close() {
        leadership.release();
        return close();
      },
      onChange: (listener) => void listeners.add(listener),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Like PostgreSQL's own programs, with the name of whoever runs it unless one is given. */
export function withDefaultUser(url: string): string {
  const given = new URL(url);
  if (given.username === "" && process.env.PGUSER === undefined) given.username = userInfo().username;
  return given.href;
}

async function ensureTenant(writer: PostgresConnection, name: string): Promise<number> {
  await createTables(writer);
  await writer.query("INSERT INTO carillon_organisations (name) VALUES ($1) ON CONFLICT DO NOTHING", [name]);
  const [found] = await writer.query<{ id: number }>("SELECT id FROM carillon_organisations WHERE name = $1", [name]);
  return Number(found?.id);
}

/**
 * Creates missing tables and brings the shared rows to this release, in the one transaction that statements sent together
 * form. Throws UpstreamError while nodes of an earlier release run.
 */
export async function createTables(connection: PostgresConnection): Promise<void> {
  try {
    await connection.query(`SELECT pg_advisory_xact_lock(${SCHEMA_LOCK}); ${SCHEMA_SQL} ${migrationSql()}`);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === OBJECT_IN_USE)) throw error;
    throw new UpstreamError("starting", error.message, {}, error);
  }
}

function createNotifier(connection: PostgresConnection, clock: Clock): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    const say = (): void => {
      isDue = false;
      // Whoever doesn't hear it looks by itself soon.
      connection.query("NOTIFY carillon").catch(() => undefined);
    };
    clock.after(NOTIFY_INTERVAL_MS, say, { background: true });
  };
}

function createQueries(
  connection: PostgresConnection,
  organisation: number,
): Pick<TenantDatabase, "readHead" | "countRows" | "proposeSetting" | "readSetting" | "pruneTombstones"> {
  const readSetting = async (name: string): Promise<string | null> => {
    const sql = "SELECT value FROM carillon_agreed WHERE organisation = $1 AND name = $2";
    return (await connection.query<{ value: string }>(sql, [organisation, name]))[0]?.value ?? null;
  };
  return {
    readSetting,
    async readHead() {
      const sql = "SELECT seq, floor, version, history FROM carillon_organisations WHERE id = $1";
      const [found] = await connection.query<Record<"seq" | "floor" | "history", string> & { version: string | null }>(
        sql,
        [organisation],
      );
      if (!found) throw new UpstreamError("starting", "The organisation is not in the database any more.");
      return { seq: Number(found.seq), floor: Number(found.floor), version: found.version, history: found.history };
    },
    async countRows() {
      const sql = "SELECT tab, count(image) AS rows FROM carillon_rows WHERE organisation = $1 GROUP BY tab";
      const found = await connection.query<{ tab: string; rows: string }>(sql, [organisation]);
      return new Map(found.map(({ tab, rows }) => [tab, Number(rows)]));
    },
    async proposeSetting(name, proposed) {
      const sql = "INSERT INTO carillon_agreed VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
      await connection.query(sql, [organisation, name, proposed]);
      return (await readSetting(name)) ?? proposed;
    },
    async pruneTombstones(kept) {
      await connection.query(
        `WITH last AS (SELECT seq FROM carillon_rows WHERE organisation = $1 AND image IS NULL ORDER BY seq DESC OFFSET $2 LIMIT 1),
           gone AS (DELETE FROM carillon_rows WHERE organisation = $1 AND image IS NULL AND seq <= (SELECT seq FROM last))
         UPDATE carillon_organisations SET floor = greatest(floor, (SELECT seq FROM last))
           WHERE id = $1 AND EXISTS (SELECT 1 FROM last)`,
        [organisation, kept],
      );
    },
  };
}
