import { spawn } from "node:child_process";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** A voice of the speech engine. */
export interface SpeechVoice {
  /** The engine's name for it. */
  code: string;
  name: string;
  /** A language tag such as en-US. */
  language: string;
  gender: "male" | "female" | null;
}

export interface SpeechRequest {
  text: string;
  /** The text is SSML without references to files or addresses. */
  isMarkedUp?: boolean;
  /** `SpeechVoice.code`. */
  voice: string;
  wordsPerMinute: number;
}

/** A speech engine that runs as a separate process. */
export interface TextToSpeechEngine {
  /** Name of the engine. */
  readonly name: string;
  /** Empty if the engine is not installed. */
  listVoices(): Promise<SpeechVoice[]>;
  /** A 16-bit mono WAV. Rejects with UpstreamError when the engine is missing, fails, or times out. */
  synthesize(utterance: SpeechRequest): Promise<Uint8Array>;
}

/** Ten minutes of speech take a good second; a message waits no longer for its speech. */
const SYNTHESIS_TIMEOUT_MS = 8_000;
/** An hour at 22,050 Hz. */
const MAX_WAV_BYTES = 160 * 1_048_576;
const WAV_HEADER_BYTES = 44;

/** The machine's speech engine, `espeak-ng` by default. Text goes in by standard input, never as an argument. */
export function createTextToSpeechEngine(
  clock: Clock,
  program = "espeak-ng",
  timeoutMs = SYNTHESIS_TIMEOUT_MS,
): TextToSpeechEngine {
  const run = (args: readonly string[], input: string): Promise<Buffer> =>
    runProgram(program, args, input, { clock, longestMs: timeoutMs });
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
  { clock, longestMs: timeoutMs }: ProcessLimits,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    const pieces: Buffer[] = [];
    let size = 0;
    const fail = (message: string, cause?: unknown): void => {
      timer.cancel();
      child.kill("SIGKILL");
      reject(new UpstreamError("upstream", message, { program }, cause));
    };
    const timer = clock.after(timeoutMs, () => fail(sentence("error.the-speech-engine-timed-out")), {
      background: true,
    });
    child.on("error", (error) => fail(sentence("error.no-speech-engine-is-installed-on-this-appliance"), error));
    child.stdout.on("data", (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size > MAX_WAV_BYTES) fail(sentence("error.the-text-is-too-long-to-be-spoken"));
    });
    child.on("close", (code) => {
      timer.cancel();
      if (code === 0) resolve(Buffer.concat(pieces));
      else fail(sentence("error.the-speech-engine-failed-code", { code: code ?? "killed" }));
    });
    // A process that exits early stops reading; its exit code reports that.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** Lines are `Pty Language Age/Gender VoiceName File …`; takes the first voice of each language. */
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

/** A WAV header written to a pipe claims an endless length. */
function withCorrectedLengths(wav: Buffer): Uint8Array {
  if (wav.length <= WAV_HEADER_BYTES || wav.toString("latin1", 36, 40) !== "data") {
    throw new UpstreamError("upstream", sentence("error.the-speech-engine-returned-no-audio"));
  }
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.writeUInt32LE(wav.length - WAV_HEADER_BYTES, 40);
  return wav;
}
