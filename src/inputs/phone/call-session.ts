import type { Clock, Timer } from "../../lib/clock.ts";
import { CODECS } from "../../media/codecs.ts";
import { fromPcm } from "../../media/samples.ts";
import type { PromptPart, VoiceCalls } from "../../notifications/engine/voice-calls.ts";
import type { AudioCodec, DialledCall, VoiceTarget } from "../../plugin-api/index.ts";

export interface CallSessionDeps {
  clock: Clock;
  /** The call in the channel that carries it. */
  voice: Pick<VoiceCalls, "open" | "play" | "close">;
}

/** Keys that are kept until they are read; a flood of them is dropped. */
const MAX_KEYS = 32;

/** One call to the appliance: what the caller hears, says and presses. */
export class CallSession {
  readonly plugin: string;
  readonly call: DialledCall;
  readonly #deps: CallSessionDeps;
  readonly #decoders = new Map<AudioCodec, (codes: Uint8Array) => Int16Array>();
  readonly #over = new AbortController();
  #target: VoiceTarget | null = null;
  /** Opening and closing of streams, one after the other. */
  #streams: Promise<void> = Promise.resolve();
  #keys: string[] = [];
  #wake: () => void = () => {};
  /** Takes the caller's voice: 8 kHz, full scale 1. */
  onVoice: (samples: Float32Array) => void = () => {};

  constructor(plugin: string, call: DialledCall, deps: CallSessionDeps) {
    this.plugin = plugin;
    this.call = call;
    this.#deps = deps;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Calls `handler` at the end of the call. */
  onOver(handler: () => void): void {
    if (this.isOver) handler();
    else this.#over.signal.addEventListener("abort", handler, { once: true });
  }

  /** Where the caller hears; null while the call is held. Rejects with UpstreamError. */
  connect(target: VoiceTarget | null): Promise<void> {
    const { voice } = this.#deps;
    this.#streams = this.#streams
      .catch(() => {})
      .then(async () => {
        if (this.#target) voice.close(this.plugin, this.#target);
        this.#target = null;
        if (!target || this.isOver) return;
        await voice.open(this.plugin, target);
        if (this.isOver) voice.close(this.plugin, target);
        else this.#target = target;
      });
    return this.#streams;
  }

  hear(codec: AudioCodec, payload: Uint8Array): void {
    // A held call carries music, no voice.
    if (this.isOver || !this.#target) return;
    const decode = this.#decoders.get(codec) ?? CODECS[codec].createVoiceDecoder();
    this.#decoders.set(codec, decode);
    this.onVoice(fromPcm(decode(payload)));
  }

  press(key: string): void {
    if (this.isOver || this.#keys.length >= MAX_KEYS) return;
    this.#keys.push(key);
    this.#wake();
  }

  /** The next key; null at the end of the call, or after `withinMs`. */
  async nextKey(withinMs: number): Promise<string | null> {
    if (this.#keys.length === 0) await this.#wait(withinMs);
    return this.isOver ? null : (this.#keys.shift() ?? null);
  }

  /** Plays to the caller until the end, a key, or the end of the call. */
  async say(...parts: PromptPart[]): Promise<void> {
    if (this.isOver || this.#keys.length > 0) return;
    await this.#streams.catch(() => {});
    const target = this.#target;
    // A caller who holds the call hears nothing; the dialogue goes on.
    const ms = target ? await this.#deps.voice.play(this.plugin, target, parts).catch(() => 0) : 0;
    if (!this.isOver && this.#keys.length === 0) await this.#wait(ms);
  }

  /** Ends it: everything that waits goes on at once. */
  end(): void {
    if (this.isOver) return;
    this.#over.abort();
    this.#wake();
    void this.connect(null).catch(() => {});
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer = this.#deps.clock.after(ms, () => this.#wake());
      this.#wake = () => {
        timer.cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }
}
