import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Principal } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { ChangedRow } from "../webhooks/change-feed/change-broadcaster.ts";
import type { ChangeFeed, ChangeSubscription } from "../webhooks/change-feed/change-feed.ts";

/** A subscriber and its starting point. */
export interface Follower {
  principal: Principal;
  /** Last known position in the change feed; null for none. */
  since: number | null;
  /** Acting domain; null for the user's first one. */
  domainId: string | null;
}

/** Sends changes to consoles over WebSockets. */
export interface LiveFeed {
  /** Upgrades an authorized request to a WebSocket. Throws TooManyRequestsError if there are too many. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, follower: Follower): void;
  /** Ends all connections. */
  stop(): void;
}

const MAX_UNANSWERED_PINGS = 3;
/** A client with more pending bytes is disconnected: a new connection catches up in one message. */
const MAX_WAITING_BYTES = 1_048_576;
/** Clients have nothing to send on this socket. */
const MAX_PAYLOAD_BYTES = 1_024;
/** Close codes. @source RFC 6455 §7.4; 4401 is private: log in again */
const CLOSE = { goingAway: 1001, sessionEnded: 4401 } as const;

/**
 * Creates the live feed: `{seq, changes}` after changes, `{seq, now}` first and every 5 s, with `resync: true` to a client
 * that missed too much. `now` is the appliance's clock in epoch ms: that of a browser may be wrong.
 */
export function createLiveFeed(feed: ChangeFeed, clock: Pick<Clock, "now">): LiveFeed {
  const server = new WebSocketServer({ noServer: true, maxPayload: MAX_PAYLOAD_BYTES, perMessageDeflate: false });
  const sockets = new Set<WebSocket>();
  /** Many consoles receive the same array, which is serialized once. */
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
          if (silent >= MAX_UNANSWERED_PINGS) return socket.terminate();
          silent += 1;
          socket.ping();
          send(socket, JSON.stringify({ seq, now: clock.now() }));
        },
        onEnd: () => socket.close(CLOSE.sessionEnded, sentence("error.the-session-has-ended")),
      },
      since,
    );
    socket.on("close", () => {
      joined.unsubscribe();
      sockets.delete(socket);
    });
    // A connection error ends only this connection.
    socket.on("error", () => undefined);
    socket.on("pong", () => {
      silent = 0;
    });
    send(socket, JSON.stringify({ ...greeting(joined, since), now: clock.now() }));
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
  if (socket.bufferedAmount > MAX_WAITING_BYTES) socket.terminate();
  else socket.send(text);
}
