import { spawn } from "node:child_process";
import type { Clock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";

/** A voice of the speech program. */
export interface EngineVoice {
  /** What the program calls it. */
  code: string;
  name: string;
  /** A tag such as en-US. */
  language: string;
  gender: "male" | "female" | null;
}

/** Text that is to be spoken. */
export interface Utterance {
  text: string;
  /** The text is SSML, which names no files and no addresses. */
  isMarkedUp?: boolean;
  /** `EngineVoice.code`. */
  voice: string;
  wordsPerMinute: number;
}

/** A program that speaks, in a process of its own. */
export interface SpeechEngine {
  /** Name of the program. */
  readonly name: string;
  /** Empty where the program is not installed. */
  voices(): Promise<EngineVoice[]>;
  /** A 16-bit mono WAV. Rejects with UpstreamError when the program is missing, fails, or takes too long. */
  speak(utterance: Utterance): Promise<Uint8Array>;
}

/** own choice: ten minutes of speech take a good second, and a message waits for its speech no longer. */
const LONGEST_MS = 8_000;
/** An hour at 22,050 Hz. */
const MOST_BYTES = 160 * 1_048_576;
const WAV_HEAD = 44;

/**
 * The speech program of the machine, an installed `espeak-ng` unless another of its kind is named. Text goes in by its
 * standard input, never by its arguments.
 */
export function createSpeechEngine(clock: Clock, program = "espeak-ng", longestMs = LONGEST_MS): SpeechEngine {
  const run = (args: readonly string[], input: string): Promise<Buffer> =>
    runProgram(program, args, input, { clock, longestMs });
  return {
    name: program.replace(/^.*\//, ""),
    async voices() {
      try {
        return parseVoices((await run(["--voices"], "")).toString("utf8"));
      } catch {
        return [];
      }
    },
    async speak({ text, isMarkedUp, voice, wordsPerMinute }) {
      const markup = isMarkedUp ? ["-m"] : [];
      const args = [...markup, "-v", voice, "-s", String(wordsPerMinute), "-b", "1", "--stdin", "--stdout"];
      return withTrueLengths(await run(args, text));
    },
  };
}

interface Bounds {
  clock: Clock;
  longestMs: number;
}

function runProgram(
  program: string,
  args: readonly string[],
  input: string,
  { clock, longestMs }: Bounds,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    const pieces: Buffer[] = [];
    let size = 0;
    const fail = (words: string, cause?: unknown): void => {
      timer.cancel();
      child.kill("SIGKILL");
      reject(new UpstreamError("upstream", words, { program }, cause));
    };
    const timer = clock.after(longestMs, () => fail("The speech program took too long."), { background: true });
    child.on("error", (error) => fail("No speech program is installed on this appliance.", error));
    child.stdout.on("data", (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size > MOST_BYTES) fail("The text is too long to be spoken.");
    });
    child.on("close", (code) => {
      timer.cancel();
      if (code === 0) resolve(Buffer.concat(pieces));
      else fail(`The speech program failed (${code ?? "killed"}).`);
    });
    // Whoever ends early does not read on; that it ended is told by its code.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** Lines are `Pty Language Age/Gender VoiceName File …`; one voice a language, the first. */
function parseVoices(text: string): EngineVoice[] {
  const found = new Map<string, EngineVoice>();
  for (const line of text.split("\n").slice(1)) {
    const [, code, gender, name] = line.trim().split(/\s+/);
    if (!code || !gender || !name || found.has(code)) continue;
    found.set(code, { code, name: name.replaceAll("_", " "), language: tagOf(code), gender: genderOf(gender) });
  }
  return [...found.values()];
}

function tagOf(code: string): string {
  return code
    .split("-")
    .map((part, at) => (at > 0 && part.length === 2 ? part.toUpperCase() : part))
    .join("-");
}

function genderOf(text: string): EngineVoice["gender"] {
  if (text.endsWith("F")) return "female";
  return text.endsWith("M") ? "male" : null;
}

/** What is written to a pipe says in its head that it is endless. */
function withTrueLengths(wav: Buffer): Uint8Array {
  if (wav.length <= WAV_HEAD || wav.toString("latin1", 36, 40) !== "data") {
    throw new UpstreamError("upstream", "The speech program gave no sound.");
  }
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.writeUInt32LE(wav.length - WAV_HEAD, 40);
  return wav;
}
