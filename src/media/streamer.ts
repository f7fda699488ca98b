import { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { BugError, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { NetworkUnreachableError } from "../lib/network-route.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { resumeStream } from "./stream-resume.ts";
import {
  NO_PACKETS_SENT,
  type StreamEnded,
  type StreamerReport,
  type StreamerRequest,
  type StreamRouted,
  type StreamSpec,
  type StreamStarted,
} from "./streamer-messages.ts";

export interface StreamerEvents {
  started: StreamStarted;
  ended: StreamEnded;
  routed: StreamRouted;
}

/** `spawn` starts the worker thread; by default the module's own. */
export interface StreamerDeps {
  clock: Clock;
  log: Log;
  spawn?: () => Worker;
}

interface KnownStream {
  spec: StreamSpec;
  /** When the packet `spec.offsetPackets` is due, epoch ms; null before the start. */
  t0Ms: number | null;
  /** The same time on the monotonic clock. */
  t0MonotonicMs: number;
  firstPacketAt: number | null;
  /** Set while the caller of open() waits. */
  opening: { resolve: () => void; reject: (error: unknown) => void } | null;
}

const MAX_FAILURES = 5;
/** Wait for the thread to close its sockets. */
const CLOSE_TIMEOUT_MS = 1_000;
const FAILURE_WINDOW_MS = 600_000;
const RESTART_FAILED = "Streamer thread could not be restarted.";

/**
 * Sends RTP streams from a worker thread, so that nothing the calling thread does disturbs their timing. When the
 * thread fails, a new one takes over and every stream resumes at its position; a thread that cannot start, or a fifth
 * failure within 10 minutes, ends all streams as `lost`, and the next stream to be opened tries a new thread.
 *
 * A broadcast: `open` each stream, then `startGroup` all of them with one t0. A later stream of the same broadcast (a
 * latecomer, or a process that resumes it) asks `resumeStream` for the position that the others have reached, opens the
 * returned spec and starts it at the returned t0.
 */
export class Streamer {
  readonly #deps: StreamerDeps;
  readonly #streams = new Map<string, KnownStream>();
  readonly #listeners: { [K in keyof StreamerEvents]: Set<(event: StreamerEvents[K]) => void> } = {
    started: new Set(),
    ended: new Set(),
    routed: new Set(),
  };
  #running = false;
  #worker: Worker | null = null;
  #failures: number[] = [];

  constructor(deps: StreamerDeps) {
    this.#deps = deps;
  }

  /** Resolves when the thread can send; rejects with UpstreamError when it cannot start. */
  async start(): Promise<void> {
    this.#running = true;
    await this.#startThread();
  }

  /** Ends the thread and all streams, without further events. */
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

  /** Resolves when the thread has closed its sockets, or after a timeout. */
  #closed(worker: Worker): Promise<void> {
    return new Promise((resolve) => {
      const patience = this.#deps.clock.after(CLOSE_TIMEOUT_MS, resolve);
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

  /** Calls `listener` for every such event until the returned function is called; an exception in it is logged. */
  on<K extends keyof StreamerEvents>(name: K, listener: (event: StreamerEvents[K]) => void): () => void {
    this.#listeners[name].add(listener);
    return () => void this.#listeners[name].delete(listener);
  }

  /**
   * Opens the socket of a stream without sending yet. Rejects with NetworkUnreachableError when nothing could leave, with
   * UpstreamError when the address cannot be used.
   */
  async open(given: StreamSpec): Promise<void> {
    const spec = { heardFrom: given.offsetPackets, ...given };
    if (this.#streams.has(spec.streamId))
      throw new BugError("A stream with this id already exists.", { streamId: spec.streamId });
    if (spec.payload.length === 0 || spec.payload.length % PACKET_BYTES !== 0) {
      throw new BugError("The payload of a stream must be one or more whole packets.", { bytes: spec.payload.length });
    }
    if (!this.#running) throw notRunningError();
    if (!this.#worker)
      this.#startThread().catch((cause) =>
        this.#deps.log.error({ event: "streamer.restart_failed", err: cause }, RESTART_FAILED),
      );
    await new Promise<void>((resolve, reject) => {
      const opening = { resolve, reject };
      this.#streams.set(spec.streamId, { spec, t0Ms: null, t0MonotonicMs: 0, firstPacketAt: null, opening });
      this.#ask({ kind: "open", spec });
    });
  }

  /**
   * Starts open streams together: the first packet of each is due at `t0Ms` (epoch ms). Skips streams that have ended.
   */
  startGroup(streamIds: readonly string[], t0Ms: number): void {
    const open = streamIds.filter((id) => this.#streams.has(id));
    const t0MonotonicMs = this.#deps.clock.monotonicMs() + t0Ms - this.#deps.clock.now();
    for (const id of open) Object.assign(this.#streams.get(id) as KnownStream, { t0Ms, t0MonotonicMs });
    this.#ask({ kind: "start", streamIds: open, t0Ms });
  }

  /**
   * Changes how often a stream sends its payload in total; Infinity: until it is ended. Has no effect on an ended
   * stream.
   */
  setRepeats(streamId: string, repeats: number): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    stream.spec = { ...stream.spec, repeats };
    this.#ask({ kind: "repeat", streamId, repeats });
  }

  /**
   * Plays `parts` one after another instead of the stream's payload, from its next packet on, then the payload again;
   * interrupts what was being played. Each part is whole packets. Has no effect on an ended stream; after a failure of
   * the streamer the stream continues with its payload.
   */
  play(streamId: string, parts: readonly Uint8Array[]): void {
    this.#ask({ kind: "play", streamId, parts });
  }

  /** The network has changed: every stream is sent from where its interface or route now leads. */
  networkChanged(): void {
    this.#ask({ kind: "network" });
  }

  /** Ends a stream at once; its `ended` event says `stopped`. Has no effect on an ended stream. */
  end(streamId: string): void {
    this.#ask({ kind: "end", streamId });
  }

  #ask(request: StreamerRequest): void {
    this.#worker?.postMessage(request);
  }

  #startThread(): Promise<void> {
    const worker = this.#deps.spawn?.() ?? new Worker(workerEntry(import.meta.url, "./streamer-worker"));
    this.#worker = worker;
    return new Promise((resolve, reject) => {
      let ready = false;
      let cause: unknown;
      worker.on("message", (report: StreamerReport) => {
        if (report.kind !== "ready") return this.#hear(report);
        ready = true;
        if (report.priorityFault)
          this.#deps.log.warn(
            { event: "streamer.priority_not_raised", reason: report.priorityFault },
            "Streamer thread could not raise its priority.",
          );
        resolve();
      });
      worker.on("error", (error) => {
        cause = error;
      });
      worker.on("exit", () => {
        const error = new UpstreamError("upstream", sentence("error.the-streamer-s-thread-failed"), {}, cause);
        reject(error);
        if (this.#worker === worker) this.#threadFailed(error, ready);
      });
    });
  }

  #threadFailed(error: UpstreamError, wasReady: boolean): void {
    const { clock, log } = this.#deps;
    log.error({ event: "streamer.failed", err: error, streams: this.#streams.size }, "Streamer thread failed.");
    this.#worker = null;
    this.#failures = [
      ...this.#failures.filter((at) => at > clock.monotonicMs() - FAILURE_WINDOW_MS),
      clock.monotonicMs(),
    ];
    if (!wasReady || this.#failures.length >= MAX_FAILURES) {
      for (const streamId of this.#streams.keys()) this.#lose(streamId);
      return;
    }
    this.#startThread().catch((cause) => log.error({ event: "streamer.restart_failed", err: cause }, RESTART_FAILED));
    for (const [streamId, stream] of this.#streams) {
      if (!this.#resume(stream)) this.#lose(streamId);
    }
  }

  /** False when the stream would have ended by now. */
  #resume(stream: KnownStream): boolean {
    if (stream.t0Ms !== null) {
      const { clock } = this.#deps;
      // The wall clock may have been set since the start.
      const t0Ms = Math.round(clock.now() + stream.t0MonotonicMs - clock.monotonicMs());
      const place = resumeStream(stream.spec, t0Ms, clock.now());
      if (!place) return false;
      Object.assign(stream, place);
    }
    // Without a network it goes on when the network is there again.
    this.#ask({ kind: "open", spec: { ...stream.spec, waitsForNetwork: true } });
    return true;
  }

  #hear(report: Exclude<StreamerReport, { kind: "ready"; priorityFault: string | null }>): void {
    switch (report.kind) {
      case "opened":
        this.#routed(report);
        this.#opened(report.streamId);
        break;
      case "refused":
        this.#refused(report);
        break;
      case "started":
        for (const event of report.streams) this.#started(event);
        break;
      case "ended":
        for (const event of report.streams) this.#ended(event);
        break;
      case "rebound":
        for (const route of report.sources) this.#routed(route);
        this.#deps.log.info(
          { event: "streamer.rebound", moved: report.moved, unreachable: report.unreachable },
          "streams follow the changed network",
        );
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
    // Only a resumed stream has its start time already.
    if (stream.t0Ms !== null) this.startGroup([streamId], stream.t0Ms);
  }

  #routed({ streamId, source }: Pick<StreamRouted, "streamId" | "source">): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    const { group, port, ssrc } = stream.spec;
    this.#emit("routed", { streamId, group, port, ssrc, source });
  }

  #refused({ streamId, message, isUnreachable }: Extract<StreamerReport, { kind: "refused" }>): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    const error = isUnreachable
      ? new NetworkUnreachableError(message, { streamId })
      : new UpstreamError("upstream", sentence("error.the-stream-could-not-be-opened-problem", { problem: message }), {
          streamId,
        });
    stream.opening?.reject(error);
    if (!stream.opening)
      this.#deps.log.error({ event: "streamer.resume_failed", err: error }, "Stream could not be resumed.");
    this.#lose(streamId);
  }

  #started(event: StreamStarted): void {
    const stream = this.#streams.get(event.streamId);
    if (!stream || stream.firstPacketAt !== null) return;
    stream.firstPacketAt = event.firstPacketAt;
    this.#emit("started", event);
  }

  #ended(event: StreamEnded): void {
    const stream = this.#streams.get(event.streamId);
    if (!stream) return;
    this.#streams.delete(event.streamId);
    if (stream.opening) stream.opening.reject(notRunningError());
    else this.#emit("ended", { ...event, firstPacketAt: stream.firstPacketAt });
  }

  #lose(streamId: string): void {
    this.#ended({ ...NO_PACKETS_SENT, streamId, reason: "lost" });
  }

  #emit<K extends keyof StreamerEvents>(name: K, event: StreamerEvents[K]): void {
    for (const listener of this.#listeners[name]) {
      try {
        listener(event);
      } catch (error) {
        this.#deps.log.error(
          { event: "streamer.listener_failed", err: error, listener: name },
          "Streamer listener failed.",
        );
      }
    }
  }
}

function notRunningError(): UpstreamError {
  return new UpstreamError("upstream", sentence("error.the-streamer-is-not-running"));
}
