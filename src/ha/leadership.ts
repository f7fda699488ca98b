import type { Clock } from "../lib/clock.ts";
import { sleep } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { isLockTimeout, type PostgresConnection } from "./postgres-connection.ts";
import { LEADER_LOCK_CLASS } from "./postgres-schema.ts";

/** Leader election of an organisation's nodes: only the leader writes and has the links. */
export interface Leadership {
  /** Resolves when this node is the leader. Rejects with the signal's reason. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Term of this node's leadership, which fences older leaders in the database; null while it is not the leader. */
  readonly term: number | null;
  /** Id of the history that it writes on; null before it was the leader. */
  readonly history: string | null;
  /** Resolves when another node has become the leader. */
  lost(): Promise<void>;
  /** The database reported another leader. */
  markSuperseded(): void;
  /** False if the database was not reached for 10 s, so that another node may lead. True while not the leader. */
  isHeard(): boolean;
  /** Starts a new history, which invalidates all replicas. Throws UpstreamError. */
  startHistory(): Promise<void>;
  /** Gives up the leadership without `lost()` resolving. */
  release(): void;
}

export interface LeadershipDeps {
  connection: PostgresConnection;
  organisation: number;
  node: string;
  clock: Clock;
}

/** Interval of attempts to take over. @source docs/decisions/0304-postgres-high-availability.md */
const RETRY_MS = 300;
/**
 * After a database outage other nodes leave the old leader this much time.
 * @source docs/decisions/0304-postgres-high-availability.md
 */
const REACQUIRE_GRACE_MS = 3_000;
/**
 * Interval of renewals; must be well below `REACQUIRE_GRACE_MS`.
 * @source docs/decisions/0304-postgres-high-availability.md
 */
const RENEW_MS = 500;
/** @source docs/decisions/0304-postgres-high-availability.md */
const DATABASE_TIMEOUT_MS = 10_000;

/** The leader holds an advisory lock of its database session, which ends with its process. */
export function createLeadership({ connection, organisation, node, clock }: LeadershipDeps): Leadership {
  let term: number | null = null;
  let history: string | null = null;
  let lose = (): void => undefined;
  let loss: Promise<void> = Promise.resolve();
  /** Generation of the connection whose session holds the lock. */
  let locked = 0;
  let heardAt = 0;

  const markSuperseded = (): void => {
    term = null;
    lose();
  };

  async function tryLock(): Promise<boolean> {
    const [found] = await connection.query<{ got: boolean }>(
      `SELECT pg_try_advisory_lock(${LEADER_LOCK_CLASS}, ${organisation}) AS got`,
    );
    return found?.got === true;
  }

  async function readLeader(): Promise<{ term: number; holder: string | null }> {
    const [found] = await connection.query<{ term: string; holder: string | null }>(
      `SELECT term, holder FROM carillon_organisations WHERE id = ${organisation}`,
    );
    return { term: Number(found?.term ?? 0), holder: found?.holder ?? null };
  }

  /** Keeps the lock across reconnects until another node takes it. */
  async function holdLock(): Promise<void> {
    while (term !== null) await sleep(clock, (await renewLock()) ? RENEW_MS : RETRY_MS);
  }

  async function renewLock(): Promise<boolean> {
    try {
      if ((await readLeader()).term !== term) {
        markSuperseded();
        return true;
      }
      const { generation } = connection;
      if (generation !== locked && !(await tryLock())) return false;
      locked = generation;
      heardAt = clock.monotonicMs();
      return true;
    } catch {
      return false;
    }
  }

  return {
    get term() {
      return term;
    },
    get history() {
      return history;
    },
    lost: () => loss,
    isHeard: () => term === null || clock.monotonicMs() - heardAt < DATABASE_TIMEOUT_MS,
    markSuperseded,
    async startHistory() {
      const sql =
        "UPDATE carillon_organisations SET history = gen_random_uuid() WHERE id = $1 AND term = $2 RETURNING history";
      const [begun] = await connection.query<{ history: string }>(sql, [organisation, term]);
      if (!begun) throw new UpstreamError("starting", sentence("error.another-node-is-the-leader-of-the-organisation"));
      history = begun.history;
    },
    release() {
      term = null;
    },
    async acquire(signal) {
      for (let known = 0; ; await sleep(clock, RETRY_MS, signal)) {
        signal.throwIfAborted();
        try {
          await connection.waitUntilReady(RETRY_MS);
          if (known !== connection.generation) {
            const isAgain = known !== 0;
            known = connection.generation;
            if (isAgain && (await readLeader()).holder !== node) await sleep(clock, REACQUIRE_GRACE_MS, signal);
          }
          if (!(await tryLock())) continue;
          const sql =
            "UPDATE carillon_organisations SET term = term + 1, holder = $2 WHERE id = $1 RETURNING term, history";
          const [taken] = await connection.query<{ term: string; history: string }>(sql, [organisation, node]);
          term = Number(taken?.term);
          history = taken?.history ?? null;
          loss = new Promise((resolve) => {
            lose = resolve;
          });
          locked = known;
          heardAt = clock.monotonicMs();
          void holdLock();
          return;
        } catch (error) {
          signal.throwIfAborted();
          // Connection errors are reported by the connection itself, and the last writer may still hold the
          // organisation's row.
          if ((error as { type?: string }).type !== "starting" && !isLockTimeout(error)) throw error;
        }
      }
    },
  };
}
