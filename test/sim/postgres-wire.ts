import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { CutAt } from "./machine.ts";

/** The real connections of one process to the database, watched, so that time can stand still while it works. */
export interface PostgresWires {
  /** For the driver. */
  make(): Duplex;
  /** See `DatabaseNode`. */
  cutAt(when: CutAt, broke: () => void): void;
  /** All break now; with `isLet` false, none is made any more. */
  breakAll(isLet: boolean): void;
}

/** What they need. */
export interface PostgresWiresNeeds {
  /** See `VirtualTime`. */
  hold(): () => void;
  /** The database committed a transaction that was ended by this process. */
  committed(): void;
  /** A connection is gone: resolves once the server's side of it is, too. */
  gone(pid: number): Promise<unknown>;
}

/** @source PostgreSQL 15, 55.7: a letter, then the length of what follows with itself; numbers of four bytes */
const [KIND, LENGTH, PID] = [1, 4, 5];

/** Makes none yet. */
export function createPostgresWires({ hold, committed, gone }: PostgresWiresNeeds): PostgresWires {
  const open = new Set<() => void>();
  let cut: { when: CutAt; broke: () => void } | null = null;
  let isLet = true;

  function make(): Socket {
    const socket = new Socket();
    const { connect, write, push } = socket;
    let pid: number | null = null;
    let rest: Buffer = Buffer.alloc(0);
    let release: (() => void) | null = null;
    const busy = (): void => {
      release ??= hold();
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
      socket.destroy();
      void (pid === null ? Promise.resolve() : gone(pid)).then(() => setImmediate(done));
    };
    const breakAtCommit = (): void => {
      const broke = cut?.broke;
      cut = null;
      end();
      broke?.();
    };
    open.add(end);
    socket.once("close", () => {
      open.delete(end);
      idle();
    });

    /** What the server says is passed on; false when it broke meanwhile. */
    function take(kind: string, message: Buffer): boolean {
      if (kind === "K") pid = message.readInt32BE(PID);
      if (kind !== "C" || message.toString("latin1", PID) !== "COMMIT\0") return true;
      committed();
      if (cut?.when !== "after-commit") return true;
      breakAtCommit();
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
      if (cut?.when === "before-commit" && bytes.includes("COMMIT")) {
        busy();
        breakAtCommit();
        return false;
      }
      // Whoever says goodbye waits for no answer.
      if (bytes[0] !== "X".charCodeAt(0)) busy();
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
        // When a hint comes, nobody could say; it may be lost, too.
        if (kind === "A") continue;
        if (!take(kind, message)) return false;
        // Before that, as the next statement may follow at once.
        if (kind === "Z") idle();
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
  };
}
