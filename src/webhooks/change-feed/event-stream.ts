import { Readable } from "node:stream";
import type { Principal } from "../../auth/principal.ts";
import { webhookEventType } from "../webhook-message.ts";
import type { ChangedRow } from "./change-broadcaster.ts";
import type { ChangeFeed, ChangeSubscription } from "./change-feed.ts";

/** Who wants to be told, and of what. */
export interface EventStreamClient {
  principal: Principal;
  domainId: string | null;
  /** Id of the last event that was received; null for none. */
  since: number | null;
  /** Names of resources; null for all that may be seen. */
  resources: readonly string[] | null;
}

/** Changes as server-sent events. */
export interface EventStream {
  /**
   * Begins a stream in the form `text/event-stream`; it ends when its reader goes away. Throws TooManyRequests.
   *
   * Events: `ready` first; `change` with `{type, resource, id, op}`, where the id `*` stands for deleted rows of which
   * it is not known which were seen; `reset` when events were missed that can't be told any more, so that everything
   * must be read anew; `end` with `{reason}` before Carillon ends the stream. A comment comes every 15 s.
   * @source HTML Standard, Server-sent events; own choice: the events and their members
   */
  open(listener: EventStreamClient): Readable;
  /** Ends all streams. */
  stop(): void;
}

/** How long clients wait before they come back, ms. */
const RETRY_MS = 3_000;
/** Whoever lets so much wait is cut off, and resumes later where it was. own choice: 256 KiB */
const MAX_BUFFERED_BYTES = 262_144;
/** The feed beats every 5 s. */
const HEARTBEATS_PER_COMMENT = 3;

/** What is said before a stream ends. */
const END_REASONS = {
  session: "The session has ended.",
  slow: "The stream was read too slowly.",
  stop: "Carillon is stopping.",
} as const;

/** Makes the event stream over the feed of changes. */
export function createEventStream(feed: ChangeFeed): EventStream {
  const open = new Set<(reason: keyof typeof END_REASONS) => void>();

  function begin(stream: Readable, listener: EventStreamClient): () => void {
    let beats = 0;
    let joined: ChangeSubscription | null = null;
    const write = (text: string): void => {
      if (stream.destroyed || !open.has(end)) return;
      stream.push(text);
      if (stream.readableLength > MAX_BUFFERED_BYTES) end("slow");
    };
    const end = (reason: keyof typeof END_REASONS): void => {
      if (!open.delete(end)) return;
      joined?.unsubscribe();
      stream.push(eventText("end", { reason: END_REASONS[reason] }));
      stream.push(null);
    };
    open.add(end);
    joined = feed.subscribe(
      {
        principal: listener.principal,
        domainId: listener.domainId,
        onChanges: (seq, changes) => write(changeEvents(seq, changes, listener)),
        onHeartbeat() {
          beats += 1;
          if (beats % HEARTBEATS_PER_COMMENT === 0) write(": still here\n\n");
        },
        onEnd: () => end("session"),
      },
      listener.since,
    );
    write(`retry: ${RETRY_MS}\n${readyEvent(joined, listener)}`);
    return () => {
      open.delete(end);
      joined?.unsubscribe();
    };
  }

  return {
    open(listener) {
      feed.assertCapacity(listener.principal);
      let leave = (): void => undefined;
      let begun = false;
      return new Readable({
        // Nobody is told before somebody reads: a request for the head alone never does.
        read() {
          if (begun) return;
          begun = true;
          leave = begin(this, listener);
        },
        destroy(error, done) {
          leave();
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
  if (missed === null) return eventText("reset", { reason: "Too much has changed since that event." }, seq);
  const ready = eventText("ready", {}, listener.since === null || missed.length === 0 ? seq : undefined);
  return missed.length === 0 ? ready : ready + changeEvents(seq, missed, listener);
}

/** One event per change; only the last one has the id, so that whoever is cut off in between is told all of them again. */
function changeEvents(seq: number, changes: readonly ChangedRow[], { resources }: EventStreamClient): string {
  const told = changes.filter(({ resource }) => resources === null || resources.includes(resource));
  return told
    .map(({ resource, id, op }, at) => {
      const data = { type: webhookEventType(resource, op), resource, id, op };
      return eventText("change", data, at === told.length - 1 ? seq : undefined);
    })
    .join("");
}

function eventText(name: string, data: object, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
