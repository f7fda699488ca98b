import { spawn } from "node:child_process";

/** Listens to the room while a message sounds. */
export interface Microphone {
  /** The message has begun: what was heard until now was the quiet. */
  begin(): void;
  /** Ends listening. */
  close(): void;
}

/** What listening needs; `onHeard` is called once, when it is clearly louder than before. */
export interface MicrophoneNeeds {
  /** A device of ALSA. */
  device: string;
  onHeard(): void;
}

/** Samples of one look: half a second. */
const WINDOW = 4_000;
/** own choice: twice as loud as the quiet (6 dB), and more than the noise of an open input. */
const TIMES_LOUDER = 2;
const LEAST_LEVEL = 50;

/** Opens the microphone by `arecord`; one that can't be opened hears nothing. */
export function openMicrophone({ device, onHeard }: MicrophoneNeeds): Microphone {
  const child = spawn("arecord", ["-q", "-t", "raw", "-f", "S16_LE", "-r", "8000", "-c", "1", "-D", device], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.once("error", () => undefined);
  let quiet = 0;
  let hasBegun = false;
  let rest = Buffer.alloc(0);
  child.stdout.on("data", (part: Buffer) => {
    rest = Buffer.concat([rest, part]);
    for (; rest.length >= WINDOW * 2; rest = rest.subarray(WINDOW * 2)) {
      const level = levelOf(rest.subarray(0, WINDOW * 2));
      if (!hasBegun) quiet = level;
      else if (level > Math.max(LEAST_LEVEL, quiet * TIMES_LOUDER)) {
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
function levelOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readInt16LE(at) ** 2;
  return Math.sqrt(sum / (bytes.length / 2));
}
