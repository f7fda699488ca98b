import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { CallerError } from "../lib/errors.ts";

/** Audio output of one message: 8 kHz mono, 16 bit. */
export interface AudioOutput {
  write(pcm: Int16Array): void;
  /** Resolves at the end: null on success, else an error message. */
  readonly ended: Promise<string | null>;
  /** Ends the input; buffered audio plays to its end. */
  end(): void;
  /** Stops at once. */
  abort(): void;
}

/** Opens an output for one message. */
export type OpenAudioOutput = () => AudioOutput;

/** Programs that play raw audio from standard input. */
const PLAYERS: Readonly<Record<string, (device: string | null) => string[]>> = {
  aplay: (device) => [
    ...["-q", "-t", "raw", "-f", "S16_LE", "-r", "8000", "-c", "1", "--buffer-time=100000"],
    ...(device === null ? [] : ["-D", device]),
    "-",
  ],
  ffplay: () => ["-nodisp", "-autoexit", "-loglevel", "error", "-f", "s16le", "-ar", "8000", "-i", "pipe:0"],
  ffmpeg: (device) => [
    ...["-loglevel", "error", "-f", "s16le", "-ar", "8000", "-ac", "1", "-i", "pipe:0"],
    ...["-f", "alsa", device ?? "default"],
  ],
};
/** If the player falls behind, audio is dropped instead of delayed. */
const MAX_BUFFERED_BYTES = 16_000;
const MAX_ERROR_CHARACTERS = 300;

/** Selects the named player, or the first one installed; throws CallerError if there is none. */
export function selectPlayer(wanted: string, device: string | null, path: string | undefined): OpenAudioOutput {
  if (wanted.startsWith("exec:")) return () => startPlayer(wanted.slice("exec:".length), []);
  const names = wanted === "auto" ? Object.keys(PLAYERS) : [wanted];
  const name = names.find((each) => isInstalled(each, path));
  const args = name === undefined ? undefined : PLAYERS[name];
  if (name === undefined || !args)
    throw new CallerError("invalid-value", `player: not found; install one of ${names.join(", ")}.`);
  return () => startPlayer(name, args(device));
}

function startPlayer(program: string, args: readonly string[]): AudioOutput {
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"] });
  let errorOutput = "";
  let aborted = false;
  const ended = new Promise<string | null>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) => resolve(code === 0 || aborted ? null : exitMessage(program, code, errorOutput)));
  });
  child.stderr.on("data", (part: Buffer) => {
    errorOutput = (errorOutput + part.toString("utf8")).slice(-MAX_ERROR_CHARACTERS);
  });
  // Reported by `close`.
  child.stdin.on("error", () => undefined);
  return {
    ended,
    write(pcm) {
      if (child.stdin.writable && child.stdin.writableLength < MAX_BUFFERED_BYTES)
        child.stdin.write(Buffer.from(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength)));
    },
    end: () => void child.stdin.end(),
    abort() {
      aborted = true;
      kill(child);
    },
  };
}

function kill(child: ChildProcess): void {
  child.stdin?.destroy();
  child.kill("SIGKILL");
}

function exitMessage(program: string, code: number | null, errorOutput: string): string {
  const last = errorOutput.trim().split("\n").at(-1) ?? "";
  return `${program} exited with ${code ?? "a signal"}${last === "" ? "" : `: ${last}`}`;
}

/** True if a program of this name is in PATH. */
function isInstalled(name: string, path: string | undefined): boolean {
  return (path ?? "").split(":").some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}
