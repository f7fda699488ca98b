import { UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { LogPage, RowImage, SharedLog, WriteLock } from "../store/shared-log.ts";
import { HUB_FILE_REQUESTS } from "../sync/files/file-requests.ts";
import type { Leadership } from "./leadership.ts";
import type { PostgresBlobStore } from "./postgres-blob-store.ts";
import { isLockTimeout, isPostgresConnectionError, type PostgresConnection } from "./postgres-connection.ts";

export interface PostgresRowLogDeps {
  organisation: number;
  /** Used for write transactions, one at a time. */
  writer: PostgresConnection;
  reader: PostgresConnection;
  leadership: Pick<Leadership, "term" | "history" | "markSuperseded" | "isHeard">;
  files: Pick<PostgresBlobStore, "put" | "putLocal">;
  /** Version of the writing software. */
  version: string;
  /** Tells other nodes that rows were written. */
  notify(): void;
}

/** How long a write waits for the database. @source docs/decisions/0304-postgres-high-availability.md */
const WRITE_TIMEOUT_MS = 6_000;
/** How long the outcome of a broken COMMIT is queried. @source docs/decisions/0304-postgres-high-availability.md */
const UNKNOWN_COMMIT_TIMEOUT_MS = 30_000;
/** @source docs/decisions/0304-postgres-high-availability.md */
const ROWS_PER_INSERT = 2_000;
/** @source docs/decisions/0304-postgres-high-availability.md */
const ROWS_PER_READ = 500;

interface StoredRow {
  tab: string;
  key: string;
  seq: string;
  image: string | null;
}

const imageOf = ({ tab, key, image }: StoredRow): RowImage => ({ table: tab, key, image });

/**
 * The shared log of an organisation: each row under the sequence number of its last change. Writers lock the
 * organisation's row until they commit, so sequence numbers become visible in order.
 * @source docs/decisions/0040-replication.md, Section 8
 */
export function createPostgresRowLog(deps: PostgresRowLogDeps): SharedLog {
  const { organisation, writer, reader, leadership, files } = deps;

  const readRowsAfter = (connection: PostgresConnection, after: number): Promise<StoredRow[]> =>
    connection.query<StoredRow>(
      `SELECT tab, key, seq, image FROM carillon_rows WHERE organisation = $1 AND seq > $2 ORDER BY seq LIMIT ${ROWS_PER_READ}`,
      [organisation, after],
    );

  let lastWrite: Promise<void> = Promise.resolve();

  /** Writers share one connection: one that ended the other's transaction would lose half of its writes. */
  async function beginExclusive(after: number): Promise<WriteLock> {
    const before = lastWrite;
    let end = (): void => undefined;
    lastWrite = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    try {
      const lock = await begin(after);
      let isOver = false;
      const over = (): void => {
        isOver = true;
        end();
      };
      return {
        ...lock,
        // A failed publish has released the lock; the connection may belong to the next writer.
        release: async () => (isOver ? undefined : lock.release().finally(over)),
        publish: (rows) => lock.publish(rows).finally(over),
      };
    } catch (error) {
      end();
      throw error;
    }
  }

  async function begin(after: number): Promise<WriteLock> {
    await writer.waitUntilReady(WRITE_TIMEOUT_MS);
    const { generation } = writer;
    const isSame = (): boolean => writer.generation === generation;
    const release = async (): Promise<void> => {
      // A lost connection has ended the transaction.
      if (isSame()) await writer.query("ROLLBACK").catch(() => undefined);
    };
    try {
      const [head] = await writer.query<{ seq: string; term: string; history: string }>(
        `BEGIN; SELECT seq, term, history FROM carillon_organisations WHERE id = ${organisation} FOR UPDATE`,
      );
      if (!head || leadership.term === null || Number(head.term) !== leadership.term) {
        if (leadership.term !== null) leadership.markSuperseded();
        throw new UpstreamError("starting", sentence("error.another-node-is-the-leader-of-the-organisation"));
      }
      const at = Number(head.seq);
      // The database lost committed rows or was replaced; the next start decides what to do.
      if (after > at || head.history !== leadership.history) {
        leadership.markSuperseded();
        throw new UpstreamError(
          "starting",
          sentence("error.database-identity-mismatch-this-node-last-wrote-to-a-different-database"),
        );
      }
      const news = after < at ? await readRowsAfter(writer, after) : [];
      const more = news.length === ROWS_PER_READ;
      return { missedRows: news.map(imageOf), at, more, release, publish: (rows) => publish(rows, at, isSame) };
    } catch (error) {
      // A failed transaction blocks the connection until it is rolled back.
      await release();
      throw isLockTimeout(error)
        ? new UpstreamError("starting", sentence("error.the-organisation-s-database-is-busy"), {}, error)
        : error;
    }
  }

  async function publish(rows: Iterable<RowImage>, base: number, isSame: () => boolean): Promise<number> {
    const name = newId();
    let at = base;
    try {
      for (const some of insertBatches(rows)) {
        await files.putLocal(referencedFiles(some));
        // On a new connection each batch would be committed separately.
        if (!isSame())
          throw new UpstreamError("starting", sentence("error.the-organisation-s-database-cannot-be-reached"));
        await insert(some, at);
        at += some.length;
      }
    } catch (error) {
      if (isSame()) await writer.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
    const version = deps.version.replace(/[^\w.+-]/g, "");
    try {
      await writer.query(
        `UPDATE carillon_organisations SET seq = ${at}, last_write = '${name}', version = '${version}' WHERE id = ${organisation}; COMMIT`,
      );
    } catch (error) {
      if (!(error instanceof UpstreamError) && !isPostgresConnectionError(error)) {
        await writer.query("ROLLBACK").catch(() => undefined);
        throw error;
      }
      await resolveUnknownCommit(name, base, error);
    }
    deps.notify();
    return at;
  }

  async function insert(rows: readonly RowImage[], base: number): Promise<void> {
    await writer.query(
      `INSERT INTO carillon_rows (organisation, tab, key, seq, image)
       SELECT $1, t, k, $2::bigint + o, i FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS u(t, k, i, o)
       ON CONFLICT (organisation, tab, key) DO UPDATE SET seq = excluded.seq, image = excluded.image`,
      [
        ...[organisation, base],
        rows.map(({ table }) => table),
        rows.map(({ key }) => key),
        rows.map(({ image }) => image),
      ],
    );
  }

  /** After a broken COMMIT: determines whether it took effect, waiting for a lock that is still held. */
  async function resolveUnknownCommit(name: string, base: number, cause: unknown): Promise<void> {
    const found = await writer
      .waitUntilReady(UNKNOWN_COMMIT_TIMEOUT_MS)
      .then(() =>
        writer.query<{ seq: string; last_write: string | null }>(
          `SELECT seq, last_write FROM carillon_organisations WHERE id = ${organisation} FOR UPDATE`,
        ),
      )
      .catch(() => []);
    const head = found[0];
    if (head?.last_write === name) return;
    if (head && Number(head.seq) <= base) throw cause;
    throw new UpstreamError(
      "outcome-unknown",
      sentence("error.the-outcome-is-unknown-read-the-resource-again-before-retrying"),
      {},
      cause,
    );
  }

  return {
    acquireWriteLock: beginExclusive,
    storeFile: files.put,
    isReachable: leadership.isHeard,
    async readAfter(after): Promise<LogPage> {
      await reader.waitUntilReady(WRITE_TIMEOUT_MS);
      const rows = await readRowsAfter(reader, after);
      return { rows: rows.map(imageOf), at: Number(rows.at(-1)?.seq ?? after), more: rows.length === ROWS_PER_READ };
    },
  };
}

function* insertBatches(rows: Iterable<RowImage>): Generator<RowImage[]> {
  let page: RowImage[] = [];
  for (const row of rows) {
    page.push(row);
    if (page.length < ROWS_PER_INSERT) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Files referred to by rows, and those that a link has just delivered. */
function referencedFiles(rows: readonly RowImage[]): Set<string> {
  const found = new Set<string>();
  for (const { table, key, image } of rows) {
    for (const [, sha256] of image?.matchAll(/sha256\\*":\\*"([0-9a-f]{64})/g) ?? []) found.add(sha256 as string);
    if (table === HUB_FILE_REQUESTS.name) for (const [sha256] of key.matchAll(/[0-9a-f]{64}/g)) found.add(sha256);
  }
  return found;
}
