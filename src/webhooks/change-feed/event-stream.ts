import { Readable } from "node:stream";
import type { Principal } from "../../auth/principal.ts";
import { webhookEventType } from "../webhook-message.ts";
import type { ChangedRow } from "./change-broadcaster.ts";
import type { ChangeFeed, ChangeSubscription } from "./change-feed.ts";

/** Client of an event stream and its filter. */
export interface EventStreamClient {
  principal: Principal;
  domainId: string | null;
  /** Id of the last received event; null for none. */
  since: number | null;
  /** Names of resources; null for all visible ones. */
  resources: readonly string[] | null;
}

/** Changes as server-sent events. */
export interface EventStream {
  /**
   * Opens a stream in the format `text/event-stream`; it ends when the reader closes it. Throws TooManyRequestsError.
   * Events: `ready` first; `change` with `{type, resource, id, op}`, where the id `*` stands for deleted rows of
   * unknown visibility; `reset` if missed events are no longer available and everything must be reloaded; `end` with
   * `{reason}` before Carillon ends the stream. A comment is sent every 15 s.
   * @source HTML Standard, Server-sent events
   */
  open(listener: EventStreamClient): Readable;
  /** Ends all streams. */
  stop(): void;
}

/** How long clients wait before they come back, ms. */
const RETRY_MS = 3_000;
/** Buffer limit of 256 KiB; slower clients are disconnected and can resume. */
const MAX_BUFFERED_BYTES = 262_144;
/** The feed beats every 5 s. */
const HEARTBEATS_PER_COMMENT = 3;

/** Reasons of the `end` event. */
const END_REASONS = {
  session: "The session has ended.",
  slow: "The stream was read too slowly.",
  stop: "Carillon is stopping.",
} as const;

/** Creates the event stream on the change feed. */
export function createEventStream(feed: ChangeFeed): EventStream {
  const open = new Set<(reason: keyof typeof END_REASONS) => void>();

  function start(stream: Readable, listener: EventStreamClient): () => void {
    let beats = 0;
    let subscription: ChangeSubscription | null = null;
    const write = (text: string): void => {
      if (stream.destroyed || !open.has(end)) return;
      stream.push(text);
      if (stream.readableLength > MAX_BUFFERED_BYTES) end("slow");
    };
    const end = (reason: keyof typeof END_REASONS): void => {
      if (!open.delete(end)) return;
      subscription?.unsubscribe();
      stream.push(eventText("end", { reason: END_REASONS[reason] }));
      stream.push(null);
    };
    open.add(end);
    subscription = feed.subscribe(
      {
        principal: listener.principal,
        domainId: listener.domainId,
        onChanges: (seq, changes) => write(changeEvents(seq, changes, listener)),
        onHeartbeat() {
          beats += 1;
          if (beats % HEARTBEATS_PER_COMMENT === 0) write(": heartbeat\n\n");
        },
        onEnd: () => end("session"),
      },
      listener.since,
    );
    write(`retry: ${RETRY_MS}\n${readyEvent(subscription, listener)}`);
    return () => {
      open.delete(end);
      subscription?.unsubscribe();
    };
  }

  return {
    open(listener) {
      feed.assertCapacity(listener.principal);
      let unsubscribe = (): void => undefined;
      let started = false;
      return new Readable({
        // Subscribes on the first read: a HEAD request never reads.
        read() {
          if (started) return;
          started = true;
          unsubscribe = start(this, listener);
        },
        destroy(error, done) {
          unsubscribe();
          done(error);
        },
      });
    },
    stop() {
      for (const end of [...open]) end("stop");
    },
  };
}

function readyEvent({ seq, missed }: ChangeSubscription, listener: EventStreamClient): string {
  if (missed === null)
    return eventText("reset", { reason: "Too many changes since that event; reload everything." }, seq);
  const ready = eventText("ready", {}, listener.since === null || missed.length === 0 ? seq : undefined);
  return missed.length === 0 ? ready : ready + changeEvents(seq, missed, listener);
}

/**
 * One event per change; only the last one has an id, so that a client disconnected in between gets all of them again.
 */
function changeEvents(seq: number, changes: readonly ChangedRow[], { resources }: EventStreamClient): string {
  const selected = changes.filter(({ resource }) => resources === null || resources.includes(resource));
  return selected
    .map(({ resource, id, op }, at) => {
      const data = { type: webhookEventType(resource, op), resource, id, op };
      return eventText("change", data, at === selected.length - 1 ? seq : undefined);
    })
    .join("");
}

function eventText(name: string, data: object, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
