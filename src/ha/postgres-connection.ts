import type { ClientConfig, Client as PgClient, QueryResultRow } from "pg";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";

/** One connection to PostgreSQL, which is made anew when it breaks. */
export interface PostgresConnection {
  /** Rows of one statement. Throws UpstreamError where there is no connection, pg's error for what the server says. */
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Which connection it is: whatever was begun on an earlier one is gone. */
  readonly generation: number;
  /** Waits up to so long for a connection. Throws UpstreamError. */
  waitUntilReady(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

/** What a connection is made with. */
export interface PostgresConnectionDeps {
  config: ClientConfig;
  clock: Pick<Clock, "after">;
  /** Said on each new connection before anything else. */
  onConnect?(client: PgClient): Promise<void>;
  onNotice?(channel: string): void;
  onFault(error: unknown): void;
}

/** @source own choice: a database is back some seconds after its restart, and shall not be stormed meanwhile */
const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 3_000;
/** A server that is gone without a word is found out in so long; also how long one statement may take. own choice */
const QUERY_TIMEOUT_MS = 15_000;

/** Statements at the begin of each connection: nobody holds what others wait for once its process is not heard. */
const SESSION_SETTINGS = `SET lock_timeout = '8s'; SET idle_in_transaction_session_timeout = '10s';
  SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2;`;

/** Begins to connect; the driver is loaded now. */
export async function openPostgresConnection(needs: PostgresConnectionDeps): Promise<PostgresConnection> {
  const { Client } = (await import("pg")).default;
  const { clock } = needs;
  let client: PgClient | null = null;
  let number = 0;
  let isClosed = false;
  let waiting: (() => void)[] = [];
  let fault: unknown = null;
  let last: Promise<unknown> = Promise.resolve();

  async function connect(): Promise<void> {
    const made = new Client({
      ...{ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: QUERY_TIMEOUT_MS, keepAlive: true },
      ...needs.config,
    });
    // Its end tells the rest.
    made.on("error", () => undefined);
    made.on("notification", ({ channel }) => needs.onNotice?.(channel));
    try {
      await made.connect();
      await made.query(SESSION_SETTINGS);
      await rejectReadReplica(made);
      await needs.onConnect?.(made);
    } catch (error) {
      if (String(error) !== String(fault)) needs.onFault(error);
      fault = error;
      made.end().catch(() => undefined);
      scheduleReconnect();
      return;
    }
    if (isClosed) return void made.end().catch(() => undefined);
    fault = null;
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
    if (!own) throw unreachableError(fault);
    try {
      // Of several statements, which have no values, the last one's.
      const result = await own.query<R>(text, values as unknown[]);
      return (Array.isArray(result) ? result.at(-1) : result).rows;
    } catch (error) {
      // The server answered: the connection is good.
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
      // The driver is to be asked one thing at a time.
      const own = last.then(() => execute<R>(text, values));
      last = own.catch(() => undefined);
      return own;
    },
    waitUntilReady(withinMs) {
      if (client) return Promise.resolve();
      if (isClosed) return Promise.reject(unreachableError(null));
      return new Promise((resolve, reject) => {
        const patience = clock.after(withinMs, () => reject(unreachableError(fault)));
        waiting.push(() => {
          patience.cancel();
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
 * SQLSTATE of what the server says as it goes, or of no server at all: only what it says has a severity, while the codes of
 * sockets may look alike (EPIPE). @source PostgreSQL 15, Appendix A: classes 08 and 57P
 */
export function isPostgresConnectionError(error: unknown): boolean {
  const { code, severity } = error as { code?: string; severity?: string };
  return severity === undefined || /^(08|57P|25P03)/.test(code ?? "");
}

/** One that follows another server takes no writes until it is promoted, which ends its connections or not. */
async function rejectReadReplica(client: PgClient): Promise<void> {
  const { rows } = await client.query<{ follows: boolean }>("SELECT pg_is_in_recovery() AS follows");
  if (rows[0]?.follows) throw new UpstreamError("starting", "The database follows another one: promote it first.");
}

/** Somebody else held a lock for too long. @source PostgreSQL 15, Appendix A: lock_not_available */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === "55P03";
}

function unreachableError(cause: unknown): UpstreamError {
  const { code } = (cause ?? {}) as { code?: string };
  return new UpstreamError("starting", "The organisation's database can't be reached.", { code: code ?? null }, cause);
}
