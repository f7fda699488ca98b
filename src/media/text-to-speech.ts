import { spawn } from "node:child_process";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";

/** A voice of the speech program. */
export interface SpeechVoice {
  /** What the program calls it. */
  code: string;
  name: string;
  /** A tag such as en-US. */
  language: string;
  gender: "male" | "female" | null;
}

/** Text that is to be spoken. */
export interface SpeechRequest {
  text: string;
  /** The text is SSML, which names no files and no addresses. */
  isMarkedUp?: boolean;
  /** `EngineVoice.code`. */
  voice: string;
  wordsPerMinute: number;
}

/** A program that speaks, in a process of its own. */
export interface TextToSpeechEngine {
  /** Name of the program. */
  readonly name: string;
  /** Empty where the program is not installed. */
  listVoices(): Promise<SpeechVoice[]>;
  /** A 16-bit mono WAV. Rejects with UpstreamError when the program is missing, fails, or takes too long. */
  synthesize(utterance: SpeechRequest): Promise<Uint8Array>;
}

/** own choice: ten minutes of speech take a good second, and a message waits for its speech no longer. */
const SYNTHESIS_TIMEOUT_MS = 8_000;
/** An hour at 22,050 Hz. */
const MAX_WAV_BYTES = 160 * 1_048_576;
const WAV_HEADER_BYTES = 44;

/**
 * The speech program of the machine, an installed `espeak-ng` unless another of its kind is named. Text goes in by its
 * standard input, never by its arguments.
 */
export function createTextToSpeechEngine(
  clock: Clock,
  program = "espeak-ng",
  longestMs = SYNTHESIS_TIMEOUT_MS,
): TextToSpeechEngine {
  const run = (args: readonly string[], input: string): Promise<Buffer> =>
    runProgram(program, args, input, { clock, longestMs });
  return {
    name: program.replace(/^.*\//, ""),
    async listVoices() {
      try {
        return parseVoices((await run(["--voices"], "")).toString("utf8"));
      } catch {
        return [];
      }
    },
    async synthesize({ text, isMarkedUp, voice, wordsPerMinute }) {
      const markup = isMarkedUp ? ["-m"] : [];
      const args = [...markup, "-v", voice, "-s", String(wordsPerMinute), "-b", "1", "--stdin", "--stdout"];
      return withCorrectedLengths(await run(args, text));
    },
  };
}

interface ProcessLimits {
  clock: Clock;
  longestMs: number;
}

function runProgram(
  program: string,
  args: readonly string[],
  input: string,
  { clock, longestMs }: ProcessLimits,
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
      if (size > MAX_WAV_BYTES) fail("The text is too long to be spoken.");
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
function parseVoices(text: string): SpeechVoice[] {
  const found = new Map<string, SpeechVoice>();
  for (const line of text.split("\n").slice(1)) {
    const [, code, gender, name] = line.trim().split(/\s+/);
    if (!code || !gender || !name || found.has(code)) continue;
    found.set(code, {
      code,
      name: name.replaceAll("_", " "),
      language: languageTag(code),
      gender: parseGender(gender),
    });
  }
  return [...found.values()];
}

function languageTag(code: string): string {
  return code
    .split("-")
    .map((part, at) => (at > 0 && part.length === 2 ? part.toUpperCase() : part))
    .join("-");
}

function parseGender(text: string): SpeechVoice["gender"] {
  if (text.endsWith("F")) return "female";
  return text.endsWith("M") ? "male" : null;
}

/** What is written to a pipe says in its head that it is endless. */
function withCorrectedLengths(wav: Buffer): Uint8Array {
  if (wav.length <= WAV_HEADER_BYTES || wav.toString("latin1", 36, 40) !== "data") {
    throw new UpstreamError("upstream", "The speech program gave no sound.");
  }
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.writeUInt32LE(wav.length - WAV_HEADER_BYTES, 40);
  return wav;
}
