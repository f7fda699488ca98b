import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { CallerError } from "../base/errors.ts";

/** Where the sound of one message comes out: 8 kHz mono, 16 bit. */
export interface Output {
  write(pcm: Int16Array): void;
  /** Resolves when it has ended, by itself or not: with null, else with what went wrong, in words. */
  readonly ended: Promise<string | null>;
  /** No more comes: what was written is played to its end. */
  end(): void;
  /** Falls silent at once. */
  cut(): void;
}

/** Opens an output for one message. */
export type OpenOutput = () => Output;

/** Programs that play what comes in by their standard input. */
const PROGRAMS: Readonly<Record<string, (device: string | null) => string[]>> = {
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
/** What the machine may be late for is dropped rather than heard late. */
const MOST_WAITING_BYTES = 16_000;
const LAST_WORDS_MS = 300;

/** The player named, or the first that is installed; throws CallerError when there is none. */
export function choosePlayer(wanted: string, device: string | null, path: string | undefined): OpenOutput {
  if (wanted.startsWith("exec:")) return () => openProcess(wanted.slice("exec:".length), []);
  const names = wanted === "auto" ? Object.keys(PROGRAMS) : [wanted];
  const name = names.find((each) => isInstalled(each, path));
  const args = name === undefined ? undefined : PROGRAMS[name];
  if (name === undefined || !args)
    throw new CallerError("invalid-value", `player: none of ${names.join(", ")} is installed.`);
  return () => openProcess(name, args(device));
}

function openProcess(program: string, args: readonly string[]): Output {
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"] });
  let complaint = "";
  let cut = false;
  const ended = new Promise<string | null>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) => resolve(code === 0 || cut ? null : wordsOf(program, code, complaint)));
  });
  child.stderr.on("data", (part: Buffer) => {
    complaint = (complaint + part.toString("utf8")).slice(-LAST_WORDS_MS);
  });
  // Told when it ends.
  child.stdin.on("error", () => undefined);
  return {
    ended,
    write(pcm) {
      if (child.stdin.writable && child.stdin.writableLength < MOST_WAITING_BYTES)
        child.stdin.write(Buffer.from(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength)));
    },
    end: () => void child.stdin.end(),
    cut() {
      cut = true;
      kill(child);
    },
  };
}

function kill(child: ChildProcess): void {
  child.stdin?.destroy();
  child.kill("SIGKILL");
}

function wordsOf(program: string, code: number | null, complaint: string): string {
  const last = complaint.trim().split("\n").at(-1) ?? "";
  return `${program} ended with ${code ?? "a signal"}${last === "" ? "" : `: ${last}`}`;
}

/** True when a program of this name is found by PATH. */
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
