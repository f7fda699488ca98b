// What the browser's audio thread runs: it has none of the page's names, so this file imports nothing.

declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(
  name: string,
  processor: new (options: { processorOptions: { piece: number } }) => AudioWorkletProcessor,
): void;

/** Hands the first channel of what comes in to the page, `piece` samples at once, and lets nothing be heard. */
class Capture extends AudioWorkletProcessor {
  #piece: Float32Array;
  #filled = 0;

  constructor({ processorOptions }: { processorOptions: { piece: number } }) {
    super();
    this.#piece = new Float32Array(processorOptions.piece);
  }

  process([input]: Float32Array[][]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.#piece[this.#filled++] = sample;
      if (this.#filled < this.#piece.length) continue;
      const { length } = this.#piece;
      this.port.postMessage(this.#piece, [this.#piece.buffer]);
      this.#piece = new Float32Array(length);
      this.#filled = 0;
    }
    return true;
  }
}

registerProcessor("capture", Capture);
