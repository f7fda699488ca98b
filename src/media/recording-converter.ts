import { spawn } from "node:child_process";
import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { WIDEBAND_RATE_HZ } from "./samples.ts";

/** Makes WAV files of recordings in other formats. */
export interface RecordingConverter {
  /** Content types that it reads. */
  readonly from: readonly string[];
  /**
   * Writes file `source` of that type into file `target` as a WAV. Rejects with CallerError (unsupported-media-type) for
   * what can't be read, or where no program is installed that can; with UpstreamError when it takes too long. Two at once;
   * of those that wait, what `isUrgent` says of when one may begin goes first.
   */
  convert(contentType: string, source: string, target: string, isUrgent?: () => boolean): Promise<void>;
}

/** The reader of each type, named, so that no file is taken for something else than it began like. */
const INPUT_FORMATS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
};
/** own choice: ten minutes take some 2 s */
const CONVERSION_TIMEOUT_MS = 30_000;
/** own choice: each takes a core for a while, and messages want theirs */
const MAX_CONCURRENT = 2;
/** One second more than a recording may have, so that a longer one is refused and not cut off. */
const MAX_SECONDS = 601;

/**
 * Converts by the `ffmpeg` of the machine, a process of its own that may read that one file and nothing else: to one
 * channel of 16 bits at 16 kHz, all that is ever sent.
 */
export function createRecordingConverter(clock: Clock, program = "ffmpeg"): RecordingConverter {
  const turns = createSemaphore();
  return {
    from: Object.keys(INPUT_FORMATS),
    async convert(contentType, source, target, isUrgent = () => false) {
      const reader = INPUT_FORMATS[contentType] ?? "";
      await turns.take(isUrgent);
      try {
        await runConverter(program, converterArguments(reader, source, target), contentType, clock);
      } finally {
        turns.giveBack();
      }
    },
  };
}

/** Lets two at once go on, the urgent ones first, else in order. */
function createSemaphore() {
  let going = 0;
  const waiting: { isUrgent: () => boolean; go: () => void }[] = [];
  return {
    async take(isUrgent: () => boolean): Promise<void> {
      if (going++ < MAX_CONCURRENT) return;
      await new Promise<void>((go) => waiting.push({ isUrgent, go }));
    },
    giveBack(): void {
      going--;
      const urgent = waiting.findIndex((each) => each.isUrgent());
      waiting.splice(Math.max(0, urgent), 1)[0]?.go();
    },
  };
}

function converterArguments(reader: string, source: string, target: string): string[] {
  const input = ["-protocol_whitelist", "file", "-f", reader, "-i", `file:${source}`];
  const output = [
    "-ac",
    "1",
    "-ar",
    String(WIDEBAND_RATE_HZ),
    "-c:a",
    "pcm_s16le",
    "-t",
    String(MAX_SECONDS),
    "-f",
    "wav",
  ];
  return [
    "-nostdin",
    "-v",
    "error",
    "-threads",
    "1",
    ...input,
    "-map",
    "0:a:0",
    "-map_metadata",
    "-1",
    ...output,
    `file:${target}`,
  ];
}

function runConverter(program: string, args: readonly string[], contentType: string, clock: Clock): Promise<void> {
  const refuse = (words: string): CallerError => new CallerError("unsupported-media-type", words);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "ignore" });
    const timer = clock.after(
      CONVERSION_TIMEOUT_MS,
      () => {
        child.kill("SIGKILL");
        reject(new UpstreamError("upstream", "Reading the recording took too long."));
      },
      { background: true },
    );
    child.on("error", () => {
      timer.cancel();
      reject(refuse(`The file is ${contentType}, which this appliance can't read without ffmpeg; send audio/wav.`));
    });
    child.on("close", (code) => {
      timer.cancel();
      if (code === 0) resolve();
      else reject(refuse(`The file begins like ${contentType} but can't be read as such.`));
    });
  });
}
