import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Principal } from "../auth/principal.ts";
import type { ChangedRow } from "../webhooks/change-feed/change-broadcaster.ts";
import type { ChangeFeed, ChangeSubscription } from "../webhooks/change-feed/change-feed.ts";

/** Who wants to follow, and from where. */
export interface Follower {
  principal: Principal;
  /** Position in the change feed up to which all is known, null for none. */
  since: number | null;
  /** Acting domain; null for the user's first one. */
  domainId: string | null;
}

/** Tells consoles over WebSockets what changes. */
export interface LiveFeed {
  /** Makes a WebSocket of a request that was judged. Throws TooManyRequests when there are too many. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, follower: Follower): void;
  /** Ends all connections. */
  stop(): void;
}

const MOST_SILENT = 3;
/** Whoever lets so many bytes wait is cut off: a new connection catches up in one message. own choice: 1 MiB */
const MOST_WAITING_BYTES = 1_048_576;
/** Nobody has anything to say here. */
const MOST_PAYLOAD_BYTES = 1_024;
/** Close codes. @source RFC 6455 §7.4; 4401 is our own: log in again */
const CLOSE = { goingAway: 1001, sessionEnded: 4401 } as const;

/** Opens the live feed: `{seq, changes}` when something changed, `{seq}` every 5 s, `{seq, resync: true}` to who missed too much. */
export function createLiveFeed(feed: ChangeFeed): LiveFeed {
  const server = new WebSocketServer({ noServer: true, maxPayload: MOST_PAYLOAD_BYTES, perMessageDeflate: false });
  const sockets = new Set<WebSocket>();
  /** Many consoles are told the same. */
  const texts = new WeakMap<readonly ChangedRow[], string>();

  function textOf(seq: number, changes: readonly ChangedRow[]): string {
    const text = texts.get(changes) ?? JSON.stringify({ seq, changes });
    texts.set(changes, text);
    return text;
  }

  function join(socket: WebSocket, { principal, since, domainId }: Follower): void {
    let silent = 0;
    sockets.add(socket);
    const joined = feed.subscribe(
      {
        principal,
        domainId,
        onChanges: (seq, changes) => send(socket, textOf(seq, changes)),
        onHeartbeat(seq) {
          if (silent >= MOST_SILENT) return socket.terminate();
          silent += 1;
          socket.ping();
          send(socket, JSON.stringify({ seq }));
        },
        onEnd: () => socket.close(CLOSE.sessionEnded, "The session has ended."),
      },
      since,
    );
    socket.on("close", () => {
      joined.unsubscribe();
      sockets.delete(socket);
    });
    // What is wrong with a connection ends it, and nobody else minds.
    socket.on("error", () => undefined);
    socket.on("pong", () => {
      silent = 0;
    });
    send(socket, JSON.stringify(greeting(joined, since)));
  }

  return {
    accept(request, socket, head, follower) {
      feed.assertCapacity(follower.principal);
      server.handleUpgrade(request, socket, head, (opened) => join(opened, follower));
    },
    stop() {
      for (const socket of sockets) {
        socket.close(CLOSE.goingAway);
        socket.terminate();
      }
      server.close();
    },
  };
}

function greeting({ seq, missed }: ChangeSubscription, since: number | null): object {
  if (since === null || missed?.length === 0) return { seq };
  return missed ? { seq, changes: missed } : { seq, resync: true };
}

function send(socket: WebSocket, text: string): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > MOST_WAITING_BYTES) socket.terminate();
  else socket.send(text);
}
