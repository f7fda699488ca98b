import workletUrl from "./capture-worklet.ts?worker&url";
import { resampled } from "./decode-audio.ts";
import { encodeWav, RECORDING_HZ } from "./wav.ts";

/** Reason why the microphone cannot be used, as a message key. */
export type MicrophoneErrorKey = "insecure" | "refused" | "none" | "busy";

/** The microphone cannot be used. */
export class MicrophoneError extends Error {
  readonly fault: MicrophoneErrorKey;

  constructor(fault: MicrophoneErrorKey, cause?: unknown) {
    super(fault, { cause });
    this.fault = fault;
  }
}

/** An open microphone. */
export interface Microphone {
  /** Samples a second of what it hears. */
  rateHz: number;
  close(): void;
}

/** A recording that is being made. */
export interface Recording {
  /** Ends it; resolves with a WAV file. */
  finish(): Promise<File>;
  /** Ends it without a file. */
  cancel(): void;
}

/**
 * Opens the microphone; `onPiece` gets samples (full scale 1) in pieces of `pieceMs`. Rejects with MicrophoneError.
 */
export async function openMicrophone(
  pieceMs: number,
  onPiece: (samples: Float32Array<ArrayBuffer>) => void,
): Promise<Microphone> {
  const stream = await openStream();
  const context = new AudioContext({ latencyHint: "interactive" });
  const close = (): void => {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
  };
  try {
    await context.audioWorklet.addModule(workletUrl);
  } catch (error) {
    close();
    throw error;
  }
  const { sampleRate } = context;
  const processorOptions = { piece: Math.round((sampleRate * pieceMs) / 1_000) };
  const node = new AudioWorkletNode(context, "capture", { processorOptions });
  node.port.onmessage = ({ data }: MessageEvent<Float32Array<ArrayBuffer>>) => onPiece(data);
  context.createMediaStreamSource(stream).connect(node);
  // Only what leads to an output is surely run; the processor leaves it silent.
  node.connect(context.destination);
  await context.resume();
  return { rateHz: sampleRate, close };
}

/** So that the meter moves with the voice. */
const RECORDED_PIECE_MS = 50;

/**
 * Records from the microphone until stopped; `onPiece` gets the peak of each piece of some 50 ms and the length so
 * far. Rejects with MicrophoneError.
 */
export async function recordMicrophone(onPiece: (peak: number, seconds: number) => void): Promise<Recording> {
  const pieces: Float32Array[] = [];
  let length = 0;
  const { rateHz, close } = await openMicrophone(RECORDED_PIECE_MS, (samples) => {
    pieces.push(samples);
    length += samples.length;
    onPiece(peakOf(samples), (pieces.length * RECORDED_PIECE_MS) / 1_000);
  });
  return {
    cancel: close,
    async finish() {
      close();
      const samples = await resampled(joined(pieces, length), rateHz);
      return new File([encodeWav(samples, RECORDING_HZ)], "recording.wav", { type: "audio/wav" });
    },
  };
}

async function openStream(): Promise<MediaStream> {
  // Browsers hide the microphone from pages that come without TLS from another machine.
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  if (!devices) throw new MicrophoneError("insecure");
  try {
    return await devices.getUserMedia({ audio: true });
  } catch (error) {
    throw new MicrophoneError(errorKeyOf(error), error);
  }
}

function errorKeyOf(error: unknown): MicrophoneErrorKey {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") return "refused";
  return name === "NotFoundError" || name === "OverconstrainedError" ? "none" : "busy";
}

/** The loudest sample. */
export function peakOf(piece: Float32Array): number {
  return piece.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
}

function joined(pieces: readonly Float32Array[], length: number): Float32Array<ArrayBuffer> {
  const all = new Float32Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
