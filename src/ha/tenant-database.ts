import { userInfo } from "node:os";
import type { Duplex } from "node:stream";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SharedLog } from "../store/shared-log.ts";
import { createLeadership, type Leadership } from "./leadership.ts";
import { createPostgresBlobStore, type PostgresBlobStore } from "./postgres-blob-store.ts";
import { openPostgresConnection, type PostgresConnection } from "./postgres-connection.ts";
import { migrationSql } from "./postgres-migrations.ts";
import { createPostgresRowLog } from "./postgres-row-log.ts";
import { NODE_LOCK_CLASS, SCHEMA_LOCK, SCHEMA_SQL } from "./postgres-schema.ts";

export interface TenantDatabaseDeps {
  /** `postgres://user@host:port/database`; the password may be in PGPASSWORD. */
  url: string;
  /** Name of the organisation (tenant). */
  name: string;
  /** Display name of this node. */
  node: string;
  /** Folder of the node's files. */
  filesDir: string;
  version: string;
  clock: Clock;
  /** Creates the driver's stream to the server; default: a socket. */
  stream?(): Duplex;
  onFault(error: unknown): void;
}

/** Head of an organisation's log. */
export interface TenantHead {
  seq: number;
  /** Tombstones up to this number are deleted: a replica below it must be rebuilt. */
  floor: number;
  /** Version that wrote last; null before the first write. */
  version: string | null;
  /** Id of the history; changes when the database is restored from a backup. */
  history: string;
}

/** The database of one organisation, for one node. Queries throw UpstreamError if the database is unreachable. */
export interface TenantDatabase {
  readonly log: SharedLog;
  readonly leadership: Leadership;
  readonly files: PostgresBlobStore;
  readHead(): Promise<TenantHead>;
  /** Number of rows by table. */
  countRows(): Promise<ReadonlyMap<string, number>>;
  /** Sets a cluster setting unless it is set, and returns its value. Secrets must be encrypted. */
  proposeSetting(name: string, proposed: string): Promise<string>;
  /** A cluster setting; null if it is not set. */
  readSetting(name: string): Promise<string | null>;
  /** Called when another node has written; a hint. */
  onChange(listener: () => void): void;
  /** Deletes all tombstones but the newest `kept`. */
  pruneTombstones(kept: number): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 8_000;
/** Minimum interval of NOTIFY, which takes a server-wide lock. @source docs/decisions/0040-replication.md, Section 8 */
const NOTIFY_INTERVAL_MS = 50;

/** @source PostgreSQL error codes, class 55 */
const OBJECT_IN_USE = "55006";

/** Connects, and creates the organisation if it does not exist. Throws UpstreamError. */
export async function openTenantDatabase(deps: TenantDatabaseDeps): Promise<TenantDatabase> {
  const { clock } = deps;
  const config = {
    connectionString: withDefaultUser(deps.url),
    application_name: `carillon ${deps.node}`.slice(0, 63),
  };
  const { stream } = deps;
  const listeners = new Set<() => void>();
  const common = { config: stream ? { ...config, stream } : config, clock, onFault: deps.onFault };
  let presenceSql: string | null = null;
  const reader = await openPostgresConnection({
    ...common,
    async onConnect(client) {
      await client.query("LISTEN carillon");
      if (presenceSql !== null) await client.query(presenceSql);
    },
    onNotice() {
      for (const listener of listeners) listener();
    },
  });
  const writer = await openPostgresConnection(common);
  const leaderConnection = await openPostgresConnection(common);
  const all = [reader, writer, leaderConnection];
  const close = async (): Promise<void> => void (await Promise.all(all.map((each) => each.close())));
  try {
    await Promise.all(all.map((each) => each.waitUntilReady(CONNECT_TIMEOUT_MS)));
    const organisation = await ensureTenant(writer, deps.name);
    presenceSql = `SELECT pg_advisory_lock_shared(${NODE_LOCK_CLASS}, ${organisation})`;
    await reader.query(presenceSql);
    const files = createPostgresBlobStore({ connection: reader, organisation, dir: deps.filesDir });
    const leadership = createLeadership({ connection: leaderConnection, organisation, node: deps.node, clock });
    const { version } = deps;
    const log = createPostgresRowLog({
      organisation,
      writer,
      reader,
      leadership,
      files,
      version,
      notify: createNotifier(leaderConnection, clock),
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

/** Defaults the user to the operating system's, like PostgreSQL's own programs. */
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
 * Creates missing tables and brings the shared rows to this release, in the one transaction that statements sent
 * together form. Throws UpstreamError while nodes of an earlier release run.
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
    const notify = (): void => {
      isDue = false;
      // Nodes poll, too.
      connection.query("NOTIFY carillon").catch(() => undefined);
    };
    clock.after(NOTIFY_INTERVAL_MS, notify, { background: true });
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
      if (!found)
        throw new UpstreamError("starting", sentence("error.the-organisation-no-longer-exists-in-the-database"));
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
