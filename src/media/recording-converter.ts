import { spawn } from "node:child_process";
import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { WIDEBAND_RATE_HZ } from "./samples.ts";

/** Converts recordings in other formats to WAV. */
export interface RecordingConverter {
  /** Supported content types. */
  readonly from: readonly string[];
  /**
   * Converts file `source` of that type into the WAV file `target`. Rejects with CallerError (unsupported-media-type)
   * for a file that cannot be decoded, or when ffmpeg is not installed; with UpstreamError on timeout. Runs two at
   * once; of those that wait, urgent ones (by `isUrgent` at that moment) go first.
   */
  convert(contentType: string, source: string, target: string, isUrgent?: () => boolean): Promise<void>;
}

/** ffmpeg input format per content type, set explicitly so that a file is never parsed as another format. */
const INPUT_FORMATS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
};
/** Ten minutes of audio take about 2 s. */
const CONVERSION_TIMEOUT_MS = 30_000;
/** Each conversion uses a core for a while; messages need the others. */
const MAX_CONCURRENT = 2;
/** One second more than the limit of recordings, so that a longer one is rejected instead of cut off. */
const MAX_SECONDS = 601;

/**
 * Converts with the machine's `ffmpeg`, a separate process that may read this one file and nothing else: to mono, 16
 * bits, 16 kHz, the most that is ever sent.
 */
export function createRecordingConverter(clock: Clock, program = "ffmpeg"): RecordingConverter {
  const withConcurrencyLimit = createSemaphore(MAX_CONCURRENT);
  return {
    from: Object.keys(INPUT_FORMATS),
    async convert(contentType, source, target, isUrgent = () => false) {
      const reader = INPUT_FORMATS[contentType] ?? "";
      const options = converterArguments(reader, source, target);
      await withConcurrencyLimit(() => runConverter(program, options, contentType, clock), isUrgent);
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
  const refuse = (message: string): CallerError => new CallerError("unsupported-media-type", message);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "ignore" });
    const timer = clock.after(
      CONVERSION_TIMEOUT_MS,
      () => {
        child.kill("SIGKILL");
        reject(new UpstreamError("upstream", sentence("error.converting-the-recording-timed-out")));
      },
      { background: true },
    );
    child.on("error", () => {
      timer.cancel();
      reject(
        refuse(
          sentence("error.the-file-is-type-which-this-appliance-cannot-convert-without-ffmpeg-send-audio-wav", {
            type: contentType,
          }),
        ),
      );
    });
    child.on("close", (code) => {
      timer.cancel();
      if (code === 0) resolve();
      else reject(refuse(sentence("error.the-file-looks-like-type-but-could-not-be-decoded", { type: contentType })));
    });
  });
}
