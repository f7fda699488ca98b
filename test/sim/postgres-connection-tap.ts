import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionCutPoint } from "./machine.ts";

/** The real connections of one process to the database, watched, so that time can stand still while it works. */
export interface PostgresConnectionTap {
  /** For the driver. */
  make(): Duplex;
  /** See `DatabaseNode`. */
  cutAt(when: ConnectionCutPoint, broke: () => void): void;
  /** All break now; with `isLet` false, none is made any more. */
  breakAll(isLet: boolean): void;
  /** The one breaks whose session says that this process acts. */
  breakLock(): void;
  /** A hint of another process comes, in the server's place, whose own would come at any time. */
  hint(): void;
}

/** Connections that wait for each other: whoever is in a transaction has what the others want. */
export interface TransactionTracker {
  /** A connection is in a transaction, or not any more. */
  setInTransaction(connection: object, inTransaction: boolean): void;
  /** Whether another one is; `free` is told as soon as any has ended, before time goes on. */
  isOtherInTransaction(connection: object, free: () => void): boolean;
}

/** Nobody is in a transaction yet. */
export function createTransactionTracker(): TransactionTracker {
  const within = new Set<object>();
  let waiting: (() => void)[] = [];
  return {
    setInTransaction(connection, inTransaction) {
      if (inTransaction) return void within.add(connection);
      if (!within.delete(connection)) return;
      const told = waiting;
      waiting = [];
      for (const tell of told) tell();
    },
    isOtherInTransaction(connection, free) {
      const isOther = [...within].some((each) => each !== connection);
      if (isOther) waiting.push(free);
      return isOther;
    },
  };
}

/** What they need. */
export interface PostgresConnectionTapDeps {
  /** See `VirtualTime`. */
  hold(): () => void;
  /**
   * The database is told to commit one. Whoever waited for it goes on at once there, and that may be heard before the word
   * that it was done: what counts is who acts when it is told.
   */
  committing(): void;
  /** The database committed a transaction that was ended by this process. */
  committed(): void;
  /** A connection is gone: resolves once the server's side of it is, too. */
  gone(pid: number): Promise<unknown>;
  turns: TransactionTracker;
  /** This process gives the others a hint. */
  hinting(): void;
}

/** Of real time: an answer that takes longer waits for another connection, whose process needs time to go on. */
const PATIENCE_MS = 50;

/** @source PostgreSQL 15, 55.7: a letter, then the length of what follows with itself; numbers of four bytes */
const [KIND, LENGTH, PID] = [1, 4, 5];
/** A notification: who sent it, the channel, and nothing more. @source PostgreSQL 15, 55.7: NotificationResponse */
const HINT = Buffer.from("A\0\0\0\x12\0\0\0\0carillon\0\0", "latin1");
/** What is said when a connection breaks, where it is not the server who says something. */
const BREAKS_AT: Readonly<Record<ConnectionCutPoint, (statements: string) => boolean>> = {
  "before-commit": isCommit,
  "after-commit": () => false,
  "in-doubt": (statements) => statements.startsWith("SELECT seq, last_write"),
};
/** A message with statements as text, which is answered when all of them are done. */
const QUERY = "Q".charCodeAt(0);
/** Of a server that is ready: in no transaction. */
const IDLE = "I".charCodeAt(0);

/**
 * The statements of a message; none where it carries something else, as rows and files are, in which any word may stand.
 * @source PostgreSQL 15, 55.7: Query
 */
export function statementsIn(bytes: Buffer): string {
  return bytes[0] === QUERY ? bytes.toString("utf8", KIND + LENGTH, bytes.length - 1) : "";
}

/** Whether they end a transaction and keep what it did. */
export function isCommit(statements: string): boolean {
  return /(^|;)\s*COMMIT\s*;?\s*$/.test(statements);
}

/** Makes none yet. */
export function createPostgresConnectionTap({
  hold,
  committing,
  committed,
  gone,
  turns,
  hinting,
}: PostgresConnectionTapDeps): PostgresConnectionTap {
  const open = new Set<() => void>();
  let cut: { when: ConnectionCutPoint; broke: () => void } | null = null;
  let isLet = true;
  let locked = (): void => undefined;
  let hear = (): unknown => undefined;

  function make(): Socket {
    const socket = new Socket();
    const { connect, write, push } = socket;
    let pid: number | null = null;
    let rest: Buffer = Buffer.alloc(0);
    let release: (() => void) | null = null;
    const busy = (): void => {
      release ??= hold();
    };
    let isAsking = false;
    /** An answer that another one holds up: time goes on until that has let go. */
    const yieldTo = (): void => {
      if (!isAsking) return;
      const again = (): void => {
        if (!isAsking) return;
        busy();
        patience = setTimeout(yieldTo, PATIENCE_MS);
      };
      if (!turns.isOtherInTransaction(end, again)) return;
      const done = release;
      release = null;
      done?.();
    };
    let patience: NodeJS.Timeout | undefined;
    const ask = (): void => {
      busy();
      if (isAsking) return;
      isAsking = true;
      patience = setTimeout(yieldTo, PATIENCE_MS);
    };
    const answered = (): void => {
      isAsking = false;
      clearTimeout(patience);
    };
    /** Whoever waited for the answer has had it by the next turn, and asks on if they want to. */
    const idle = (): void => {
      const done = release;
      release = null;
      if (done) setImmediate(done);
    };
    const end = (): void => {
      if (!open.delete(end)) return;
      const done = hold();
      answered();
      socket.destroy();
      void (pid === null ? Promise.resolve() : gone(pid)).then(() => {
        turns.setInTransaction(end, false);
        setImmediate(done);
      });
    };
    const breakAtCommit = (): void => {
      const broke = cut?.broke;
      cut = null;
      end();
      broke?.();
    };
    open.add(end);
    socket.once("close", () => {
      if (open.delete(end)) turns.setInTransaction(end, false);
      answered();
      idle();
    });

    /** What the server says is passed on; false when it broke meanwhile. */
    function take(kind: string, message: Buffer): boolean {
      if (kind === "K") pid = message.readInt32BE(PID);
      if (kind !== "C" || message.toString("latin1", PID) !== "COMMIT\0") return true;
      committed();
      if (cut?.when === "in-doubt") end();
      else if (cut?.when === "after-commit") breakAtCommit();
      else return true;
      return false;
    }

    socket.connect = ((...to: unknown[]) => {
      busy();
      if (isLet) connect.apply(socket, to as never);
      // To connect puts Node's own back.
      if (isLet) socket.write = watched;
      else setImmediate(() => socket.destroy(new Error("Nobody is there.")));
      return socket;
    }) as typeof socket.connect;

    const watched = ((bytes: Buffer, ...more: unknown[]) => {
      const statements = statementsIn(bytes);
      if (cut && BREAKS_AT[cut.when](statements)) {
        busy();
        breakAtCommit();
        return false;
      }
      // Whoever says goodbye waits for no answer.
      if (bytes[0] !== "X".charCodeAt(0)) ask();
      if (statements.includes("pg_try_advisory_lock")) locked = end;
      if (statements.startsWith("LISTEN ")) hear = () => open.has(end) && push.call(socket, HINT);
      if (statements.startsWith("NOTIFY ")) hinting();
      if (isCommit(statements)) committing();
      return write.apply(socket, [bytes, ...more] as never);
    }) as typeof socket.write;

    socket.push = (chunk: Buffer | null) => {
      if (chunk === null) return push.call(socket, null);
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (rest.length >= KIND + LENGTH) {
        const size = KIND + rest.readInt32BE(KIND);
        if (rest.length < size) break;
        const [message, kind] = [rest.subarray(0, size), String.fromCharCode(rest[0] as number)];
        rest = rest.subarray(size);
        // When a hint comes, nobody could say: see `hint`.
        if (kind === "A") continue;
        if (!take(kind, message)) return false;
        // Before that, as the next statement may follow at once.
        if (kind === "Z") {
          answered();
          turns.setInTransaction(end, message[PID] !== IDLE);
          idle();
        }
        push.call(socket, message);
      }
      return true;
    };
    return socket;
  }

  return {
    make,
    cutAt(when, broke) {
      cut = { when, broke };
    },
    breakAll(is) {
      isLet = is;
      for (const end of [...open]) end();
    },
    breakLock: () => locked(),
    hint: () => void hear(),
  };
}
