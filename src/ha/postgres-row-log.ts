import { UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import type { LogPage, RowImage, SharedLog, WriteLock } from "../store/shared-log.ts";
import { HUB_FILE_REQUESTS } from "../sync/files/file-requests.ts";
import type { Leadership } from "./leadership.ts";
import type { PostgresBlobStore } from "./postgres-blob-store.ts";
import { isPostgresConnectionError, isLockTimeout, type PostgresConnection } from "./postgres-connection.ts";

/** What the log is made of. */
export interface PostgresRowLogDeps {
  organisation: number;
  /** For turns, one at a time. */
  writer: PostgresConnection;
  reader: PostgresConnection;
  leadership: Pick<Leadership, "term" | "history" | "markSuperseded" | "isHeard">;
  files: Pick<PostgresBlobStore, "put" | "putLocal">;
  /** The Carillon that writes. */
  version: string;
  /** Something was written: other nodes may look. */
  notify(): void;
}

/** A write waits for the database so long. own choice: a restart of it passes unseen */
const WRITE_TIMEOUT_MS = 6_000;
/** Whether a write was kept is asked for so long. own choice */
const UNKNOWN_COMMIT_TIMEOUT_MS = 30_000;
/** Rows in one statement. own choice */
const ROWS_PER_INSERT = 2_000;
/** Rows in one answer: so many are taken over without a pause, some 20 to 30 ms. own choice */
const ROWS_PER_READ = 500;

interface StoredRow {
  tab: string;
  key: string;
  seq: string;
  image: string | null;
}

const imageOf = ({ tab, key, image }: StoredRow): RowImage => ({ table: tab, key, image });

/**
 * The organisation's rows, each under the number of its last change. Whoever writes holds the organisation's own row
 * locked until it commits, so the numbers come into sight in their order.
 * @source replication.md 3
 */
export function createPostgresRowLog(needs: PostgresRowLogDeps): SharedLog {
  const { organisation, writer, reader, leadership, files } = needs;

  const readRowsAfter = (connection: PostgresConnection, after: number): Promise<StoredRow[]> =>
    connection.query<StoredRow>(
      `SELECT tab, key, seq, image FROM carillon_rows WHERE organisation = $1 AND seq > $2 ORDER BY seq LIMIT ${ROWS_PER_READ}`,
      [organisation, after],
    );

  let lastTurn: Promise<void> = Promise.resolve();

  /** They share a connection: whoever ended one would end the other's transaction, and half of what that writes be lost. */
  async function beginExclusive(after: number): Promise<WriteLock> {
    const before = lastTurn;
    let end = (): void => undefined;
    lastTurn = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    try {
      const turn = await begin(after);
      let isOver = false;
      const over = (): void => {
        isOver = true;
        end();
      };
      return {
        ...turn,
        // What could not be published is over already, and the connection may be the next one's.
        release: async () => (isOver ? undefined : turn.release().finally(over)),
        publish: (rows) => turn.publish(rows).finally(over),
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
      // With its connection, it is over anyway.
      if (isSame()) await writer.query("ROLLBACK").catch(() => undefined);
    };
    try {
      const [head] = await writer.query<{ seq: string; term: string; history: string }>(
        `BEGIN; SELECT seq, term, history FROM carillon_organisations WHERE id = ${organisation} FOR UPDATE`,
      );
      if (!head || leadership.term === null || Number(head.term) !== leadership.term) {
        if (leadership.term !== null) leadership.markSuperseded();
        throw new UpstreamError("starting", "Another node acts for the organisation.");
      }
      const at = Number(head.seq);
      // It lost what was answered, or another one was put in its place: the start judges what to do.
      if (after > at || head.history !== leadership.history) {
        leadership.markSuperseded();
        throw new UpstreamError("starting", "The organisation's database is not the one that this node wrote to.");
      }
      const news = after < at ? await readRowsAfter(writer, after) : [];
      const more = news.length === ROWS_PER_READ;
      return { missedRows: news.map(imageOf), at, more, release, publish: (rows) => publish(rows, at, isSame) };
    } catch (error) {
      // What failed is still a transaction, in which the connection would take nothing more.
      await release();
      throw isLockTimeout(error)
        ? new UpstreamError("starting", "The organisation's database is busy.", {}, error)
        : error;
    }
  }

  async function publish(rows: Iterable<RowImage>, base: number, isSame: () => boolean): Promise<number> {
    const name = newId();
    let at = base;
    try {
      for (const some of insertBatches(rows)) {
        await files.putLocal(referencedFiles(some));
        // On another connection they would be kept one page at a time.
        if (!isSame()) throw new UpstreamError("starting", "The organisation's database can't be reached.");
        await insert(some, at);
        at += some.length;
      }
    } catch (error) {
      if (isSame()) await writer.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
    const version = needs.version.replace(/[^\w.+-]/g, "");
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
    needs.notify();
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

  /** The connection broke at the end: was it kept? Whoever still holds the lock is waited for. */
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
    throw new UpstreamError("outcome-unknown", "Whether the change was kept is not known: look again.", {}, cause);
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

/** Files that rows name, and those that came over a link just now. */
function referencedFiles(rows: readonly RowImage[]): Set<string> {
  const found = new Set<string>();
  for (const { table, key, image } of rows) {
    for (const [, sha256] of image?.matchAll(/sha256\\*":\\*"([0-9a-f]{64})/g) ?? []) found.add(sha256 as string);
    if (table === HUB_FILE_REQUESTS.name) for (const [sha256] of key.matchAll(/[0-9a-f]{64}/g)) found.add(sha256);
  }
  return found;
}
