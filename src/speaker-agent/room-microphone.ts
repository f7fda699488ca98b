import { spawn } from "node:child_process";

/** Listens to the room during playback. */
export interface RoomMicrophone {
  /** Playback starts: the level so far is the noise floor. */
  begin(): void;
  close(): void;
}

/** `onHeard` is called once, when the room is clearly louder than before. */
export interface RoomMicrophoneDeps {
  /** ALSA device. */
  device: string;
  onHeard(): void;
}

/** Samples per window: half a second. */
const WINDOW_SAMPLES = 4_000;
/** Twice the noise floor (6 dB), and above the noise of an open input. */
const LOUDNESS_RATIO = 2;
const MIN_LEVEL = 50;

/** Opens the microphone with `arecord`; one that cannot be opened hears nothing. */
export function openRoomMicrophone({ device, onHeard }: RoomMicrophoneDeps): RoomMicrophone {
  const child = spawn("arecord", ["-q", "-t", "raw", "-f", "S16_LE", "-r", "8000", "-c", "1", "-D", device], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.once("error", () => undefined);
  let noiseFloor = 0;
  let hasBegun = false;
  let rest = Buffer.alloc(0);
  child.stdout.on("data", (part: Buffer) => {
    rest = Buffer.concat([rest, part]);
    for (; rest.length >= WINDOW_SAMPLES * 2; rest = rest.subarray(WINDOW_SAMPLES * 2)) {
      const level = rmsLevel(rest.subarray(0, WINDOW_SAMPLES * 2));
      if (!hasBegun) noiseFloor = level;
      else if (level > Math.max(MIN_LEVEL, noiseFloor * LOUDNESS_RATIO)) {
        close();
        onHeard();
        return;
      }
    }
  });
  function close(): void {
    child.stdout.removeAllListeners("data");
    child.kill("SIGKILL");
  }
  return {
    begin() {
      hasBegun = true;
      rest = Buffer.alloc(0);
    },
    close,
  };
}

/** Root of the mean square of 16-bit samples. */
function rmsLevel(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readInt16LE(at) ** 2;
  return Math.sqrt(sum / (bytes.length / 2));
}
