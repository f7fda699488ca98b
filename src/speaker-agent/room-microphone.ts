import { spawn } from "node:child_process";
import { Worker } from "node:worker_threads";
import { workerEntry } from "../lib/worker-entry.ts";
import { type Detection, MAX_P_VALUE } from "./matched-filter.ts";

/** Records the room during one playback and searches the recording for what is played. */
export interface RoomMicrophone {
  /** Playback starts: the recording counts from now. */
  begin(): void;
  /** Audio that goes to the player, from `begin` on. */
  addPlayed(pcm: Int16Array): void;
  /** Playback ended: stops and resolves with the result; null if the recording could not be evaluated. */
  finish(): Promise<MicrophoneResult | null>;
  /** Stops without a result. */
  close(): void;
}

/** What the microphone found; `detection` is null if the recording was too short, or there was none. */
export interface MicrophoneResult {
  hasRecorded: boolean;
  isHeard: boolean;
  detection: Detection | null;
}

/** Opens the microphone for one playback; `onHeard` is called once, as soon as the played audio is found. */
export type OpenRoomMicrophone = (onHeard: (detection: Detection) => void) => RoomMicrophone;

/** A recorder of 8 kHz mono, 16 bit. */
export interface Recorder {
  close(): void;
}

/** Starts a recorder; `onAudio` gets little-endian samples in pieces of any length. */
export type OpenRecorder = (onAudio: (bytes: Buffer) => void) => Recorder;

/** To the thread of the matched filter. */
export type FilterRequest = { kind: "played" | "recorded"; pcm: Int16Array } | { kind: "finish" };

/** From the thread; `heard` may be repeated. */
export interface FilterReport {
  kind: "heard" | "finished";
  detection: Detection | null;
}

/** Records with `arecord`; a device that cannot be opened records nothing. */
export function recordFrom(device: string): OpenRecorder {
  return (onAudio) => {
    const args = ["-q", "-t", "raw", "-f", "S16_LE", "-r", "8000", "-c", "1", "-D", device];
    const child = spawn("arecord", args, { stdio: ["ignore", "pipe", "ignore"] });
    child.once("error", () => undefined);
    child.stdout.on("data", onAudio);
    return {
      close() {
        child.stdout.removeAllListeners("data");
        child.kill("SIGKILL");
      },
    };
  };
}

/** Listens with a recorder, comparing in a separate thread so that playback is never delayed. */
export function createRoomMicrophone(open: OpenRecorder): OpenRoomMicrophone {
  return (onHeard) => {
    const worker = new Worker(workerEntry(import.meta.url, "./matched-filter-worker"));
    let hasBegun = false;
    let hasRecorded = false;
    let heard: Detection | null = null;
    let oddByte = Buffer.alloc(0);
    let resolveFinished = (_result: MicrophoneResult | null): void => undefined;
    const finished = new Promise<MicrophoneResult | null>((resolve) => {
      resolveFinished = resolve;
    });
    const send = (request: FilterRequest): void => worker.postMessage(request);
    const recorder = open((bytes) => {
      if (!hasBegun) return;
      hasRecorded = true;
      const whole = Buffer.concat([oddByte, bytes]);
      const pcm = new Int16Array(whole.length >> 1);
      for (let n = 0; n < pcm.length; n++) pcm[n] = whole.readInt16LE(2 * n);
      oddByte = whole.subarray(2 * pcm.length);
      send({ kind: "recorded", pcm });
    });
    const stop = (): void => {
      recorder.close();
      void worker.terminate();
    };
    const conclude = (detection: Detection | null): void => {
      stop();
      const isHeard = detection !== null && detection.pValue <= MAX_P_VALUE;
      if (isHeard && !heard) onHeard(detection);
      resolveFinished({ hasRecorded, isHeard, detection });
    };
    worker.on("message", ({ kind, detection }: FilterReport) => {
      if (heard) return;
      if (kind === "finished") return conclude(detection);
      // Nothing more to prove.
      conclude(detection);
      heard = detection;
    });
    worker.on("error", () => {
      stop();
      resolveFinished(null);
    });
    return {
      begin() {
        hasBegun = true;
      },
      addPlayed: (pcm) => send({ kind: "played", pcm }),
      finish() {
        recorder.close();
        send({ kind: "finish" });
        return finished;
      },
      close: stop,
    };
  };
}
