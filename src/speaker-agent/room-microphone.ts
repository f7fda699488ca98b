import { spawn } from "node:child_process";

/** Listens to the room while a message sounds. */
export interface RoomMicrophone {
  /** The message has begun: what was heard until now was the quiet. */
  begin(): void;
  /** Ends listening. */
  close(): void;
}

/** What listening needs; `onHeard` is called once, when it is clearly louder than before. */
export interface RoomMicrophoneDeps {
  /** A device of ALSA. */
  device: string;
  onHeard(): void;
}

/** Samples of one look: half a second. */
const WINDOW_SAMPLES = 4_000;
/** own choice: twice as loud as the quiet (6 dB), and more than the noise of an open input. */
const LOUDNESS_RATIO = 2;
const MIN_LEVEL = 50;

/** Opens the microphone by `arecord`; one that can't be opened hears nothing. */
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
