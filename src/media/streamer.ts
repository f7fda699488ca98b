import { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { BugError, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { resumeStream } from "./stream-resume.ts";
import {
  NO_PACKETS_SENT,
  type StreamEnded,
  type StreamerReport,
  type StreamerRequest,
  type StreamSpec,
  type StreamStarted,
} from "./streamer-messages.ts";

/** What a streamer tells, by name. */
export interface StreamerEvents {
  started: StreamStarted;
  ended: StreamEnded;
}

/** What a streamer needs; `spawn` starts its thread (by default the one that belongs to it). */
export interface StreamerDeps {
  clock: Clock;
  log: Log;
  spawn?: () => Worker;
}

interface KnownStream {
  spec: StreamSpec;
  /** When the packet `spec.offsetPackets` is due, epoch ms; null before the start. */
  t0Ms: number | null;
  /** The same moment on the clock that is never set. */
  t0MonotonicMs: number;
  firstPacketAt: number | null;
  /** Set while the caller of open() waits. */
  opening: { resolve: () => void; reject: (error: unknown) => void } | null;
}

const MAX_FAILURES = 5;
/** A thread that closes its sockets says so at once. own choice */
const CLOSE_TIMEOUT_MS = 1_000;
const FAILURE_WINDOW_MS = 600_000;
const RESTART_FAILED = "streamer thread did not come back";

/**
 * Sends RTP streams from a thread of its own, so that nothing the calling thread does can disturb their rhythm.
 * When that thread fails, a new one takes over and every stream goes on at its place; a thread that cannot start, or a
 * fifth failure within 10 minutes, ends all streams as `lost`, and the next stream to be opened tries a new thread.
 *
 * A broadcast: `open` each stream, then `startGroup` all of them with one t0. Whoever comes after that, be it a latecomer
 * or a process that takes up the broadcast of another, asks `resumeStream` for the place that the others have reached,
 * opens the spec and starts it at the t0 that it gives.
 */
export class Streamer {
  readonly #needs: StreamerDeps;
  readonly #streams = new Map<string, KnownStream>();
  readonly #listeners: { [K in keyof StreamerEvents]: Set<(event: StreamerEvents[K]) => void> } = {
    started: new Set(),
    ended: new Set(),
  };
  #running = false;
  #worker: Worker | null = null;
  #failures: number[] = [];

  constructor(needs: StreamerDeps) {
    this.#needs = needs;
  }

  /** Resolves when the thread can send; rejects with UpstreamError when it cannot start. */
  async start(): Promise<void> {
    this.#running = true;
    await this.#startThread();
  }

  /** Ends the thread and with it every stream, of which nothing more is told. */
  async stop(): Promise<void> {
    this.#running = false;
    const worker = this.#worker;
    this.#worker = null;
    for (const stream of this.#streams.values()) stream.opening?.reject(notRunningError());
    this.#streams.clear();
    if (!worker) return;
    await this.#closed(worker);
    await worker.terminate();
  }

  /** Resolves when no datagram comes to the thread any more, or it does not say so in time. */
  #closed(worker: Worker): Promise<void> {
    return new Promise((resolve) => {
      const patience = this.#needs.clock.after(CLOSE_TIMEOUT_MS, resolve);
      const over = (): void => {
        patience.cancel();
        resolve();
      };
      worker.once("exit", over);
      worker.on("message", ({ kind }: StreamerReport) => {
        if (kind === "closed") over();
      });
      worker.postMessage({ kind: "close" } satisfies StreamerRequest);
    });
  }

  /** Calls `listener` for every such event until the function returned is called; one that throws is logged. */
  on<K extends keyof StreamerEvents>(name: K, listener: (event: StreamerEvents[K]) => void): () => void {
    this.#listeners[name].add(listener);
    return () => void this.#listeners[name].delete(listener);
  }

  /** Opens the socket of a stream, which sends nothing yet. Rejects with UpstreamError when the address cannot be used. */
  async open(given: StreamSpec): Promise<void> {
    const spec = { heardFrom: given.offsetPackets, ...given };
    if (this.#streams.has(spec.streamId))
      throw new BugError("A stream with this id is open.", { streamId: spec.streamId });
    if (spec.payload.length === 0 || spec.payload.length % PACKET_BYTES !== 0) {
      throw new BugError("A stream's payload is one or more whole packets.", { bytes: spec.payload.length });
    }
    if (!this.#running) throw notRunningError();
    if (!this.#worker) this.#startThread().catch((cause) => this.#needs.log.error({ err: cause }, RESTART_FAILED));
    await new Promise<void>((resolve, reject) => {
      const opening = { resolve, reject };
      this.#streams.set(spec.streamId, { spec, t0Ms: null, t0MonotonicMs: 0, firstPacketAt: null, opening });
      this.#ask({ kind: "open", spec });
    });
  }

  /** Lets open streams begin together: the first packet of each is due at `t0Ms` (epoch ms). Streams that have ended are left out. */
  startGroup(streamIds: readonly string[], t0Ms: number): void {
    const open = streamIds.filter((id) => this.#streams.has(id));
    const t0MonotonicMs = this.#needs.clock.monotonicMs() + t0Ms - this.#needs.clock.now();
    for (const id of open) Object.assign(this.#streams.get(id) as KnownStream, { t0Ms, t0MonotonicMs });
    this.#ask({ kind: "start", streamIds: open, t0Ms });
  }

  /** Changes how often a stream sends its payload in all; Infinity: until it is ended. One that has ended is left alone. */
  setRepeats(streamId: string, repeats: number): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    stream.spec = { ...stream.spec, repeats };
    this.#ask({ kind: "repeat", streamId, repeats });
  }

  /**
   * Sends these one after another in the place of the stream's payload, from its next packet on, and then the payload
   * again; what was being played is broken off. Each is whole packets. One that has ended is left alone; after a failure
   * of the streamer the stream goes on with its payload.
   */
  play(streamId: string, parts: readonly Uint8Array[]): void {
    this.#ask({ kind: "play", streamId, parts });
  }

  /** Ends a stream at once; its `ended` says `stopped`. One that has ended is left alone. */
  end(streamId: string): void {
    this.#ask({ kind: "end", streamId });
  }

  #ask(request: StreamerRequest): void {
    this.#worker?.postMessage(request);
  }

  #startThread(): Promise<void> {
    const worker = this.#needs.spawn?.() ?? new Worker(workerEntry(import.meta.url, "./streamer-worker"));
    this.#worker = worker;
    return new Promise((resolve, reject) => {
      let ready = false;
      let cause: unknown;
      worker.on("message", (report: StreamerReport) => {
        if (report.kind !== "ready") return this.#hear(report);
        ready = true;
        if (report.priorityFault)
          this.#needs.log.warn({ reason: report.priorityFault }, "streamer has no raised priority");
        resolve();
      });
      worker.on("error", (error) => {
        cause = error;
      });
      worker.on("exit", () => {
        const error = new UpstreamError("upstream", "The streamer's thread failed.", {}, cause);
        reject(error);
        if (this.#worker === worker) this.#threadFailed(error, ready);
      });
    });
  }

  #threadFailed(error: UpstreamError, wasReady: boolean): void {
    const { clock, log } = this.#needs;
    log.error({ err: error, streams: this.#streams.size }, "streamer thread failed");
    this.#worker = null;
    this.#failures = [
      ...this.#failures.filter((at) => at > clock.monotonicMs() - FAILURE_WINDOW_MS),
      clock.monotonicMs(),
    ];
    if (!wasReady || this.#failures.length >= MAX_FAILURES) {
      for (const streamId of this.#streams.keys()) this.#lose(streamId);
      return;
    }
    this.#startThread().catch((cause) => log.error({ err: cause }, RESTART_FAILED));
    for (const [streamId, stream] of this.#streams) {
      if (!this.#resume(stream)) this.#lose(streamId);
    }
  }

  /** False when the stream would have ended by now. */
  #resume(stream: KnownStream): boolean {
    if (stream.t0Ms !== null) {
      const { clock } = this.#needs;
      // Somebody may have set the wall clock since the start.
      const t0Ms = Math.round(clock.now() + stream.t0MonotonicMs - clock.monotonicMs());
      const place = resumeStream(stream.spec, t0Ms, clock.now());
      if (!place) return false;
      Object.assign(stream, place);
    }
    this.#ask({ kind: "open", spec: stream.spec });
    return true;
  }

  #hear(report: Exclude<StreamerReport, { kind: "ready"; priorityFault: string | null }>): void {
    switch (report.kind) {
      case "opened":
        this.#opened(report.streamId);
        break;
      case "refused":
        this.#refused(report.streamId, report.message);
        break;
      case "started":
        for (const event of report.streams) this.#started(event);
        break;
      case "ended":
        for (const event of report.streams) this.#ended(event);
        break;
      case "closed":
        break;
    }
  }

  #opened(streamId: string): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    stream.opening?.resolve();
    stream.opening = null;
    // Only a resumed stream has its moment already.
    if (stream.t0Ms !== null) this.startGroup([streamId], stream.t0Ms);
  }

  #refused(streamId: string, message: string): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    const error = new UpstreamError("upstream", `The stream cannot be opened: ${message}`, { streamId });
    stream.opening?.reject(error);
    if (!stream.opening) this.#needs.log.error({ err: error }, "stream could not be resumed");
    this.#lose(streamId);
  }

  #started(event: StreamStarted): void {
    const stream = this.#streams.get(event.streamId);
    if (!stream || stream.firstPacketAt !== null) return;
    stream.firstPacketAt = event.firstPacketAt;
    this.#tell("started", event);
  }

  #ended(event: StreamEnded): void {
    const stream = this.#streams.get(event.streamId);
    if (!stream) return;
    this.#streams.delete(event.streamId);
    if (stream.opening) stream.opening.reject(notRunningError());
    else this.#tell("ended", { ...event, firstPacketAt: stream.firstPacketAt });
  }

  #lose(streamId: string): void {
    this.#ended({ ...NO_PACKETS_SENT, streamId, reason: "lost" });
  }

  #tell<K extends keyof StreamerEvents>(name: K, event: StreamerEvents[K]): void {
    for (const listener of this.#listeners[name]) {
      try {
        listener(event);
      } catch (error) {
        this.#needs.log.error({ err: error, event: name }, "streamer listener failed");
      }
    }
  }
}

function notRunningError(): UpstreamError {
  return new UpstreamError("upstream", "The streamer is not running.");
}
