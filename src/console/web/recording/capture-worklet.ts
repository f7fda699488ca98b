// What the browser's audio thread runs: it has none of the page's names, so this file imports nothing.

declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** Samples that are handed over at once: some 50 ms, so that the meter moves with the voice. */
const PIECE = 2_400;

/** Hands the first channel of what comes in to the page, and lets nothing be heard. */
class Capture extends AudioWorkletProcessor {
  #piece = new Float32Array(PIECE);
  #filled = 0;

  process([input]: Float32Array[][]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.#piece[this.#filled++] = sample;
      if (this.#filled < PIECE) continue;
      this.port.postMessage(this.#piece, [this.#piece.buffer]);
      this.#piece = new Float32Array(PIECE);
      this.#filled = 0;
    }
    return true;
  }
}

registerProcessor("capture", Capture);
