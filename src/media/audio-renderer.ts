import { Worker } from "node:worker_threads";
import { BugError, UpstreamError, validationError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { RenderReply, RenderRequest } from "./audio-renderer-messages.ts";
import type { Codec } from "./codecs.ts";
import { type AudioLayout, audioHash, type RenderedAudio } from "./rendered-audio.ts";

/** A WAV file by the SHA-256 of its bytes; `read` is called only on a cache miss. */
export interface WavSource {
  sha256: string;
  read: () => Uint8Array | Promise<Uint8Array>;
}

/** What to render. */
export interface AudioSpec extends AudioLayout {
  recording: WavSource | null;
  /** Speech that comes first in each repetition. */
  announcement?: WavSource | null;
}

type AudioFiles = Required<Pick<AudioSpec, "recording" | "announcement">>;

/** `spawn` starts the worker thread; by default the module's own. */
export interface AudioRendererDeps {
  log: Log;
  spawn?: () => Worker;
}

type RenderJob = Omit<RenderRequest, "id" | keyof AudioFiles>;

interface PendingRequest {
  resolve: (reply: Extract<RenderReply, { programme: RenderedAudio } | { payload: Uint8Array }>) => void;
  reject: (error: unknown) => void;
}

/** Cache limit: some 20 minutes of audio. */
const MAX_CACHE_BYTES = 32 * 1024 * 1024;

/**
 * Renders audio in a worker thread, since decoding minutes of audio takes hundreds of ms, and caches the latest
 * results.
 */
export class AudioRenderer {
  readonly #needs: AudioRendererDeps;
  /** By hash, least recently used first; holds renders in progress too, so that each is rendered once. */
  readonly #programmes = new Map<string, Promise<RenderedAudio>>();
  readonly #sizes = new Map<string, number>();
  readonly #waiting = new Map<number, PendingRequest>();
  #worker: Worker | null = null;
  #running = false;
  #lastId = 0;

  constructor(needs: AudioRendererDeps) {
    this.#needs = needs;
  }

  /** Starts the thread; after a failure it restarts with the next job. */
  start(): void {
    this.#running = true;
    this.#thread();
  }

  /** Ends the thread; waiting callers get an UpstreamError. */
  async stop(): Promise<void> {
    this.#running = false;
    const worker = this.#worker;
    this.#worker = null;
    this.#rejectAll(unavailableError());
    await worker?.terminate();
  }

  /**
   * The rendered audio for `spec`, from the cache if possible. Its samples are shared with other callers: read only.
   * Rejects with CallerError (`audio`, `alertTone`, `repetitions`) for audio that cannot be played, with UpstreamError
   * when the thread failed.
   */
  prepare(spec: AudioSpec): Promise<RenderedAudio> {
    const { recording, announcement = null, ...layout } = spec;
    const hash = audioSpecHash(spec);
    const known = this.#programmes.get(hash);
    const programme = known ?? this.#make(hash, layout, { recording, announcement });
    this.#programmes.delete(hash);
    this.#programmes.set(hash, programme);
    if (!known) {
      programme.then(
        (made) => this.#remember(hash, made),
        () => this.#programmes.delete(hash),
      );
    }
    return programme;
  }

  /** Drops `spec` from the cache. */
  forget(spec: AudioSpec): void {
    const hash = audioSpecHash(spec);
    this.#programmes.delete(hash);
    this.#sizes.delete(hash);
  }

  async #make(hash: string, layout: AudioLayout, sources: AudioFiles): Promise<RenderedAudio> {
    const reply = await this.#ask({ hash, layout, rendition: null }, sources);
    if (!("programme" in reply)) throw new BugError("The audio thread returned an unexpected reply.");
    const { programme } = reply;
    const renditions = new Map<Codec, Promise<Uint8Array>>();
    const rendition = (codec: Codec): Promise<Uint8Array> => {
      const wanted = { hash, layout, rendition: { codec, packets: programme.packets } };
      const made = renditions.get(codec) ?? this.#render(wanted, sources);
      renditions.set(codec, made);
      made.catch(() => renditions.delete(codec));
      return made;
    };
    return { ...programme, rendition };
  }

  async #render(wanted: RenderJob, sources: AudioFiles): Promise<Uint8Array> {
    const reply = await this.#ask(wanted, sources);
    if (!("payload" in reply)) throw new BugError("The audio thread returned an unexpected reply.");
    const size = this.#sizes.get(wanted.hash);
    if (size !== undefined) this.#sizes.set(wanted.hash, size + reply.payload.byteLength);
    return reply.payload;
  }

  async #ask(wanted: RenderJob, sources: AudioFiles): Promise<Parameters<PendingRequest["resolve"]>[0]> {
    const [recording, announcement] = await Promise.all([sources.recording?.read(), sources.announcement?.read()]);
    if (!this.#running) throw unavailableError();
    const worker = this.#thread();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const files = { recording: recording ?? null, announcement: announcement ?? null };
      worker.postMessage({ ...wanted, ...files, id } satisfies RenderRequest);
    });
  }

  #remember(hash: string, programme: RenderedAudio): void {
    this.#sizes.set(hash, programme.pcm.byteLength + programme.payload.byteLength);
    let total = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const oldest of this.#programmes.keys()) {
      if (total <= MAX_CACHE_BYTES) return;
      const size = this.#sizes.get(oldest);
      if (size === undefined) continue;
      this.#programmes.delete(oldest);
      this.#sizes.delete(oldest);
      total -= size;
    }
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#needs.spawn?.() ?? new Worker(workerEntry(import.meta.url, "./audio-renderer-worker"));
    let cause: unknown;
    worker.on("message", (reply: RenderReply) => this.#settle(reply));
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#needs.log.error({ event: "audio_renderer.failed", err: cause, waiting: this.#waiting.size }, "Audio thread failed.");
      this.#rejectAll(unavailableError(cause));
    });
    this.#worker = worker;
    return worker;
  }

  #settle(reply: RenderReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (!waiting) return;
    if ("programme" in reply || "payload" in reply) waiting.resolve(reply);
    else if ("faults" in reply) waiting.reject(validationError(reply.faults));
    else waiting.reject(new BugError("Rendering audio failed.", {}, reply.failure));
  }

  #rejectAll(error: UpstreamError): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}

/** Cache key of a spec. */
export function audioSpecHash({ recording, announcement, ...layout }: AudioSpec): string {
  return audioHash(layout, recording?.sha256 ?? null, announcement?.sha256 ?? null);
}

function unavailableError(cause?: unknown): UpstreamError {
  return new UpstreamError("upstream", "The audio thread is not available.", {}, cause);
}
