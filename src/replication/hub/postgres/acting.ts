import type { Clock } from "../../../base/clock.ts";
import { sleep } from "../../../base/clock.ts";
import { UpstreamError } from "../../../base/errors.ts";
import { type Connection, isLocked } from "./connection.ts";
import { ACTING } from "./tables.ts";

/** Which of an organisation's nodes acts: it alone writes, and has the links. */
export interface Acting {
  /** Waits until this node acts. Rejects with the signal's reason. */
  begin(signal: AbortSignal): Promise<void>;
  /** Number of this node's time to act, by which the database knows whose turn it is; null while it does not act. */
  readonly term: number | null;
  /** The organisation's history that it writes on; null before it acts. */
  readonly history: string | null;
  /** Resolves when another node acts in its place. */
  lost(): Promise<void>;
  /** The database says that another one acts. */
  superseded(): void;
  /** False when the database was not heard of for 10 s, and another node may act. True before it acts. */
  isHeard(): boolean;
  /** Begins another history: whatever copies there are, they are of an older one. Throws UpstreamError. */
  beginHistory(): Promise<void>;
  /** It does not act any more, nor does it want to; nobody is told. */
  end(): void;
}

/** What it needs. */
export interface ActingNeeds {
  connection: Connection;
  organisation: number;
  node: string;
  clock: Clock;
}

/** @source own choice: a node takes over well within the 10 s in which its appliances are to be back */
const TRY_MS = 300;
/** How long others leave it to the node that acted, where it was the database that went. own choice */
const GRACE_MS = 3_000;
/** Where the network swallows everything, only questions show it. own choice: well within the time that others leave it */
const ASK_EVERY_MS = 500;
/** own choice: longer than a restart of the database takes */
const SILENT_MS = 10_000;

/** Makes it. A lock of the database's session says who acts: it ends with the process that holds it. */
export function createActing({ connection, organisation, node, clock }: ActingNeeds): Acting {
  let term: number | null = null;
  let history: string | null = null;
  let lose = (): void => undefined;
  let loss: Promise<void> = Promise.resolve();
  /** Number of the connection whose session has the lock. */
  let locked = 0;
  let heardAt = 0;

  const superseded = (): void => {
    term = null;
    lose();
  };

  async function hasLock(): Promise<boolean> {
    const [found] = await connection.query<{ got: boolean }>(
      `SELECT pg_try_advisory_lock(${ACTING}, ${organisation}) AS got`,
    );
    return found?.got === true;
  }

  async function actor(): Promise<{ term: number; holder: string | null }> {
    const [found] = await connection.query<{ term: string; holder: string | null }>(
      `SELECT term, holder FROM carillon_organisations WHERE id = ${organisation}`,
    );
    return { term: Number(found?.term ?? 0), holder: found?.holder ?? null };
  }

  /** Holds the lock on whatever connection there is, until another node took it on the way. */
  async function keep(): Promise<void> {
    while (term !== null) await sleep(clock, (await regained()) ? ASK_EVERY_MS : TRY_MS);
  }

  async function regained(): Promise<boolean> {
    try {
      if ((await actor()).term !== term) {
        superseded();
        return true;
      }
      const { number } = connection;
      if (number !== locked && !(await hasLock())) return false;
      locked = number;
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
    isHeard: () => term === null || clock.monotonicMs() - heardAt < SILENT_MS,
    superseded,
    async beginHistory() {
      const sql =
        "UPDATE carillon_organisations SET history = gen_random_uuid() WHERE id = $1 AND term = $2 RETURNING history";
      const [begun] = await connection.query<{ history: string }>(sql, [organisation, term]);
      if (!begun) throw new UpstreamError("starting", "Another node acts for the organisation.");
      history = begun.history;
    },
    end() {
      term = null;
    },
    async begin(signal) {
      for (let known = 0; ; await sleep(clock, TRY_MS, signal)) {
        signal.throwIfAborted();
        try {
          await connection.ready(TRY_MS);
          if (known !== connection.number) {
            const isAgain = known !== 0;
            known = connection.number;
            if (isAgain && (await actor()).holder !== node) await sleep(clock, GRACE_MS, signal);
          }
          if (!(await hasLock())) continue;
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
          void keep();
          return;
        } catch (error) {
          signal.throwIfAborted();
          // The connection says by itself what is wrong with it;
          // and whoever wrote last may still hold the organisation's row.
          if ((error as { type?: string }).type !== "starting" && !isLocked(error)) throw error;
        }
      }
    },
  };
}
