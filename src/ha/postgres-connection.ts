import type { ClientConfig, Client as PgClient, QueryResultRow } from "pg";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createSerialQueue } from "../lib/serial-queue.ts";

/** A connection to PostgreSQL that reconnects. */
export interface PostgresConnection {
  /** Rows of the statement. Throws UpstreamError without a connection, and pg's error for errors of the server. */
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Number of the connection; session state of an earlier one is lost. */
  readonly generation: number;
  /** Waits for a connection. Throws UpstreamError. */
  waitUntilReady(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface PostgresConnectionDeps {
  config: ClientConfig;
  clock: Pick<Clock, "after">;
  /** Runs on each new connection before it is used. */
  onConnect?(client: PgClient): Promise<void>;
  onNotice?(channel: string): void;
  onFault(error: unknown): void;
}

/** @source docs/decisions/0304-postgres-high-availability.md */
const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 3_000;
/**
 * Statement timeout, after which the server counts as gone.
 * @source docs/decisions/0304-postgres-high-availability.md
 */
const QUERY_TIMEOUT_MS = 15_000;

/** Session settings: locks of a process that is gone are released soon. */
const SESSION_SETTINGS = `SET lock_timeout = '8s'; SET idle_in_transaction_session_timeout = '10s';
  SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2;`;

/** Starts connecting; loads the driver on demand. */
export async function openPostgresConnection(deps: PostgresConnectionDeps): Promise<PostgresConnection> {
  const { Client } = (await import("pg")).default;
  const { clock } = deps;
  let client: PgClient | null = null;
  let number = 0;
  let isClosed = false;
  let waiting: (() => void)[] = [];
  let lastError: unknown = null;
  // The driver must get one query at a time.
  const queries = createSerialQueue();

  async function connect(): Promise<void> {
    const made = new Client({
      ...{ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: QUERY_TIMEOUT_MS, keepAlive: true },
      ...deps.config,
    });
    // The `end` event handles it.
    made.on("error", () => undefined);
    made.on("notification", ({ channel }) => deps.onNotice?.(channel));
    try {
      await made.connect();
      await made.query(SESSION_SETTINGS);
      await rejectReadReplica(made);
      await deps.onConnect?.(made);
    } catch (error) {
      if (String(error) !== String(lastError)) deps.onFault(error);
      lastError = error;
      made.end().catch(() => undefined);
      scheduleReconnect();
      return;
    }
    if (isClosed) return void made.end().catch(() => undefined);
    lastError = null;
    number += 1;
    client = made;
    made.once("end", () => drop(made));
    for (const each of waiting.splice(0)) each();
  }

  function scheduleReconnect(): void {
    if (!isClosed) clock.after(RECONNECT_MS, () => void connect());
  }

  function drop(old: PgClient): void {
    if (client !== old) return;
    client = null;
    scheduleReconnect();
  }

  async function execute<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]> {
    const own = client;
    if (!own) throw unreachableError(lastError);
    try {
      // Several statements (without values) return several results.
      const result = await own.query<R>(text, values as unknown[]);
      return (Array.isArray(result) ? result.at(-1) : result).rows;
    } catch (error) {
      // The server responded: the connection is intact.
      if (!isPostgresConnectionError(error)) throw error;
      drop(own);
      own.end().catch(() => undefined);
      throw unreachableError(error);
    }
  }

  void connect();
  return {
    get generation() {
      return number;
    },
    query<R extends QueryResultRow>(text: string, values?: readonly unknown[]) {
      return queries.run(() => execute<R>(text, values));
    },
    waitUntilReady(withinMs) {
      if (client) return Promise.resolve();
      if (isClosed) return Promise.reject(unreachableError(null));
      return new Promise((resolve, reject) => {
        const timer = clock.after(withinMs, () => reject(unreachableError(lastError)));
        waiting.push(() => {
          timer.cancel();
          resolve();
        });
      });
    },
    async close() {
      isClosed = true;
      waiting = [];
      const own = client;
      client = null;
      await own?.end().catch(() => undefined);
    },
  };
}

/**
 * Whether the server is shutting down or gone. Errors of the server have a severity; codes of socket errors may look
 * like a SQLSTATE (EPIPE).
 * @source PostgreSQL 15, Appendix A: classes 08 and 57P
 */
export function isPostgresConnectionError(error: unknown): boolean {
  const { code, severity } = error as { code?: string; severity?: string };
  return severity === undefined || /^(08|57P|25P03)/.test(code ?? "");
}

/** A read replica takes no writes until it is promoted. */
async function rejectReadReplica(client: PgClient): Promise<void> {
  const { rows } = await client.query<{ follows: boolean }>("SELECT pg_is_in_recovery() AS follows");
  if (rows[0]?.follows)
    throw new UpstreamError("starting", sentence("error.the-database-is-a-read-replica-it-must-be-promoted-first"));
}

/** @source PostgreSQL 15, Appendix A: lock_not_available */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === "55P03";
}

function unreachableError(cause: unknown): UpstreamError {
  const { code } = (cause ?? {}) as { code?: string };
  return new UpstreamError(
    "starting",
    sentence("error.the-organisation-s-database-cannot-be-reached"),
    { code: code ?? null },
    cause,
  );
}
