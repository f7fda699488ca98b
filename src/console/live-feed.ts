import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Access, Principal } from "../access/principal.ts";
import type { Clock } from "../base/clock.ts";
import { TooManyRequests } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Reader } from "../store/store.ts";
import { createChangeHub, type Fold, type RowChange } from "./change-hub.ts";
import { visibleChanges } from "./visible-changes.ts";

/** What the live feed is made of. */
export interface LiveFeedNeeds {
  reader: Reader;
  access: Access;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** Who wants to follow, and from where: the position in the change feed up to which all is known, null for none. */
export interface Follower {
  principal: Principal;
  since: number | null;
}

/** Tells consoles over WebSockets what changes. */
export interface LiveFeed {
  /** Makes a WebSocket of a request that was judged. Throws TooManyRequests when there are too many. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, follower: Follower): void;
  /** Ends all connections. */
  stop(): void;
}

interface Connection {
  socket: WebSocket;
  principal: Principal;
  /** Pings without an answer. */
  silent: number;
}

/** Connections at once, in all and of one user. own choice */
const MOST = 500;
const MOST_OF_USER = 50;
/** Somebody who missed more reads everything anew. own choice */
const MOST_MISSED = 2_000;
const HEARTBEAT_MS = 5_000;
const MOST_SILENT = 3;
/** Whoever lets so many bytes wait is cut off: a new connection catches up in one message. own choice: 1 MiB */
const MOST_WAITING_BYTES = 1_048_576;
/** Nobody has anything to say here. */
const MOST_PAYLOAD_BYTES = 1_024;
/** Close codes. @source RFC 6455 §7.4; 4401 is our own: log in again */
const CLOSE = { goingAway: 1001, sessionEnded: 4401 } as const;

/** Starts the feed: `{seq, changes}` when something changed, `{seq}` every 5 s, `{seq, resync: true}` to who missed too much. */
export function createLiveFeed(needs: LiveFeedNeeds): LiveFeed {
  const { reader, access, clock, events, log } = needs;
  const connections = new Set<Connection>();
  const server = new WebSocketServer({ noServer: true, maxPayload: MOST_PAYLOAD_BYTES, perMessageDeflate: false });
  const hub = createChangeHub({ ...needs, seq: newestSeq(reader), onFold: (fold) => guarded(() => tell(fold)) });

  /** No timer of a feed for people may end the process that rings bells. */
  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, "the live feed failed");
    }
  }

  function seen(changes: readonly RowChange[], principal: Principal): RowChange[] {
    return visibleChanges(changes, access.scopeOf(principal, null), needs);
  }

  function tell({ seq, changes }: Fold): void {
    const texts = new Map<number, string | null>();
    for (const connection of connections) {
      const { userPk } = connection.principal;
      let text = texts.get(userPk);
      if (text === undefined) {
        const visible = seen(changes, connection.principal);
        text = visible.length === 0 ? null : JSON.stringify({ seq, changes: visible });
        texts.set(userPk, text);
      }
      if (text !== null) send(connection, text);
    }
  }

  function send({ socket }: Connection, text: string): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > MOST_WAITING_BYTES) socket.terminate();
    else socket.send(text);
  }

  function endUnlessValid({ socket, principal }: Connection): boolean {
    if (access.stillValid(principal)) return true;
    socket.close(CLOSE.sessionEnded, "The session has ended.");
    return false;
  }

  function beat(): void {
    const text = JSON.stringify({ seq: hub.seq });
    for (const connection of connections) {
      if (connection.silent >= MOST_SILENT) connection.socket.terminate();
      else if (endUnlessValid(connection)) {
        connection.silent += 1;
        connection.socket.ping();
        send(connection, text);
      }
    }
  }

  const heartbeat = clock.every(HEARTBEAT_MS, () => guarded(beat));
  const stopWatching = events.on("row.changed", ({ resource, id, op }) => {
    if (op === "create" || (resource !== userTokens.name && resource !== users.name)) return;
    for (const connection of connections) {
      const { tokenId, userId } = connection.principal;
      if (tokenId === id || userId === id) endUnlessValid(connection);
    }
  });

  function join(socket: WebSocket, { principal, since }: Follower): void {
    const connection = { socket, principal, silent: 0 };
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
    // What is wrong with a connection ends it, and nobody else minds.
    socket.on("error", () => undefined);
    socket.on("pong", () => {
      connection.silent = 0;
    });
    send(connection, JSON.stringify(greeting(since, principal)));
  }

  function greeting(since: number | null, principal: Principal): object {
    const seq = Math.max(hub.seq, newestSeq(reader));
    if (since === null || since === seq) return { seq };
    const missed = since > seq ? null : changesAfter(reader, since);
    return missed ? { seq, changes: seen(missed, principal) } : { seq, resync: true };
  }

  return {
    accept(request, socket, head, follower) {
      const ofUser = [...connections].filter(({ principal }) => principal.userId === follower.principal.userId);
      if (connections.size >= MOST || ofUser.length >= MOST_OF_USER) throw new TooManyRequests(HEARTBEAT_MS / 1_000);
      server.handleUpgrade(request, socket, head, (opened) => join(opened, follower));
    },
    stop() {
      heartbeat.cancel();
      stopWatching();
      hub.stop();
      for (const { socket } of connections) {
        socket.close(CLOSE.goingAway);
        socket.terminate();
      }
      server.close();
    },
  };
}

function newestSeq(reader: Reader): number {
  return reader.one<{ seq: number | null }>("SELECT max(seq) AS seq FROM changes")?.seq ?? 0;
}

/** The newest change of each row after a position, oldest first; null when there are too many. */
function changesAfter(reader: Reader, since: number): RowChange[] | null {
  const rows = reader.all<{ type: string; row_id: string; op: RowChange["op"] }>(
    "SELECT type, row_id, op FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",
    since,
    MOST_MISSED + 1,
  );
  return rows.length > MOST_MISSED ? null : rows.map(({ type, row_id, op }) => ({ resource: type, id: row_id, op }));
}
