import type { Clock } from "../lib/clock.ts";
import { sleep } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { isLockTimeout, type PostgresConnection } from "./postgres-connection.ts";
import { LEADER_LOCK_CLASS } from "./postgres-schema.ts";

/** Which of an organisation's nodes acts: it alone writes, and has the links. */
export interface Leadership {
  /** Waits until this node acts. Rejects with the signal's reason. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Number of this node's time to act, by which the database knows whose turn it is; null while it does not act. */
  readonly term: number | null;
  /** The organisation's history that it writes on; null before it acts. */
  readonly history: string | null;
  /** Resolves when another node acts in its place. */
  lost(): Promise<void>;
  /** The database says that another one acts. */
  markSuperseded(): void;
  /** False when the database was not heard of for 10 s, and another node may act. True before it acts. */
  isHeard(): boolean;
  /** Begins another history: whatever copies there are, they are of an older one. Throws UpstreamError. */
  startHistory(): Promise<void>;
  /** It does not act any more, nor does it want to; nobody is told. */
  release(): void;
}

/** What it needs. */
export interface LeadershipDeps {
  connection: PostgresConnection;
  organisation: number;
  node: string;
  clock: Clock;
}

/** @source own choice: a node takes over well within the 10 s in which its appliances are to be back */
const RETRY_MS = 300;
/** How long others leave it to the node that acted, where it was the database that went. own choice */
const REACQUIRE_GRACE_MS = 3_000;
/** Where the network swallows everything, only questions show it. own choice: well within the time that others leave it */
const RENEW_MS = 500;
/** own choice: longer than a restart of the database takes */
const DATABASE_TIMEOUT_MS = 10_000;

/** Makes it. A lock of the database's session says who acts: it ends with the process that holds it. */
export function createLeadership({ connection, organisation, node, clock }: LeadershipDeps): Leadership {
  let term: number | null = null;
  let history: string | null = null;
  let lose = (): void => undefined;
  let loss: Promise<void> = Promise.resolve();
  /** Number of the connection whose session has the lock. */
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

  /** Holds the lock on whatever connection there is, until another node took it on the way. */
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
      if (!begun) throw new UpstreamError("starting", "Another node acts for the organisation.");
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
          // The connection says by itself what is wrong with it;
          // and whoever wrote last may still hold the organisation's row.
          if ((error as { type?: string }).type !== "starting" && !isLockTimeout(error)) throw error;
        }
      }
    },
  };
}
