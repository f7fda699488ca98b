import { Worker } from "node:worker_threads";
import { BugError, UpstreamError, validationError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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
  resolve: (reply: Extract<RenderReply, { renderedAudio: RenderedAudio } | { payload: Uint8Array }>) => void;
  reject: (error: unknown) => void;
}

/** Cache limit: some 20 minutes of audio. */
const MAX_CACHE_BYTES = 32 * 1024 * 1024;

/**
 * Renders audio in a worker thread, since decoding minutes of audio takes hundreds of ms, and caches the latest
 * results.
 */
export class AudioRenderer {
  readonly #deps: AudioRendererDeps;
  /** By hash, least recently used first; holds renders in progress too, so that each is rendered once. */
  readonly #cache = new Map<string, Promise<RenderedAudio>>();
  readonly #sizes = new Map<string, number>();
  readonly #waiting = new Map<number, PendingRequest>();
  #worker: Worker | null = null;
  #running = false;
  #lastId = 0;

  constructor(deps: AudioRendererDeps) {
    this.#deps = deps;
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
    const known = this.#cache.get(hash);
    const renderedAudio = known ?? this.#renderAudio(hash, layout, { recording, announcement });
    this.#cache.delete(hash);
    this.#cache.set(hash, renderedAudio);
    if (!known) {
      renderedAudio.then(
        (encoded) => this.#store(hash, encoded),
        () => this.#cache.delete(hash),
      );
    }
    return renderedAudio;
  }

  /** Drops `spec` from the cache. */
  forget(spec: AudioSpec): void {
    const hash = audioSpecHash(spec);
    this.#cache.delete(hash);
    this.#sizes.delete(hash);
  }

  async #renderAudio(hash: string, layout: AudioLayout, sources: AudioFiles): Promise<RenderedAudio> {
    const reply = await this.#request({ hash, layout, rendition: null }, sources);
    if (!("renderedAudio" in reply)) throw new BugError("The audio thread returned an unexpected reply.");
    const { renderedAudio } = reply;
    const renditions = new Map<Codec, Promise<Uint8Array>>();
    const rendition = (codec: Codec): Promise<Uint8Array> => {
      const job = { hash, layout, rendition: { codec, packets: renderedAudio.packets } };
      const encoded = renditions.get(codec) ?? this.#render(job, sources);
      renditions.set(codec, encoded);
      encoded.catch(() => renditions.delete(codec));
      return encoded;
    };
    return { ...renderedAudio, rendition };
  }

  async #render(job: RenderJob, sources: AudioFiles): Promise<Uint8Array> {
    const reply = await this.#request(job, sources);
    if (!("payload" in reply)) throw new BugError("The audio thread returned an unexpected reply.");
    const size = this.#sizes.get(job.hash);
    if (size !== undefined) this.#sizes.set(job.hash, size + reply.payload.byteLength);
    return reply.payload;
  }

  async #request(job: RenderJob, sources: AudioFiles): Promise<Parameters<PendingRequest["resolve"]>[0]> {
    const [recording, announcement] = await Promise.all([sources.recording?.read(), sources.announcement?.read()]);
    if (!this.#running) throw unavailableError();
    const worker = this.#thread();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const files = { recording: recording ?? null, announcement: announcement ?? null };
      worker.postMessage({ ...job, ...files, id } satisfies RenderRequest);
    });
  }

  #store(hash: string, renderedAudio: RenderedAudio): void {
    this.#sizes.set(hash, renderedAudio.pcm.byteLength + renderedAudio.payload.byteLength);
    let total = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const oldest of this.#cache.keys()) {
      if (total <= MAX_CACHE_BYTES) return;
      const size = this.#sizes.get(oldest);
      if (size === undefined) continue;
      this.#cache.delete(oldest);
      this.#sizes.delete(oldest);
      total -= size;
    }
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#deps.spawn?.() ?? new Worker(workerEntry(import.meta.url, "./audio-renderer-worker"));
    let cause: unknown;
    worker.on("message", (reply: RenderReply) => this.#settle(reply));
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#deps.log.error(
        { event: "audio_renderer.failed", err: cause, waiting: this.#waiting.size },
        "Audio thread failed.",
      );
      this.#rejectAll(unavailableError(cause));
    });
    this.#worker = worker;
    return worker;
  }

  #settle(reply: RenderReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (!waiting) return;
    if ("renderedAudio" in reply || "payload" in reply) waiting.resolve(reply);
    else if ("fieldErrors" in reply) waiting.reject(validationError(reply.fieldErrors));
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
  return new UpstreamError("upstream", sentence("error.the-audio-thread-is-not-available"), {}, cause);
}
