import { expect, it } from "vitest";
import { CallerError } from "../../../src/lib/errors.ts";
import { inspectRecording } from "../../../src/media/recording-inspection.ts";
import { sine } from "../../support/signal-analysis.ts";
import { sampleBytes, wavFile } from "../../support/wav-file.ts";

/** Two seconds of a voice-like sound that is so much too loud, and cut off at full scale. */
function recorded(gain: number, bits: 8 | 16 | 24 = 16): Buffer {
  const samples = sine(300, 2, 1, 16_000).map((sample, i) => {
    const loudness = 0.5 + 0.5 * Math.sin(i / 2_000);
    return Math.max(-1, Math.min(0.9999, gain * loudness * sample));
  });
  return wavFile({ rateHz: 16_000, channels: 1, bits }, sampleBytes(samples, bits));
}

it.each([0.3, 1, 1.05])("accepts a recording at %d of full scale", (gain) => {
  expect(inspectRecording(recorded(gain))).toMatchObject({ rateHz: 16_000, durationMs: 2_000 });
});

it.each([8, 16, 24] as const)("rejects a clipped recording, %i bits", (bits) => {
  expect(() => inspectRecording(recorded(4, bits), "recording")).toThrow(CallerError);
  expect(() => inspectRecording(recorded(4, bits))).toThrow(
    /audio is not valid. The recording is overdriven: \d\d % .* more softly/,
  );
});

it("accepts silence, and rejects other files", () => {
  expect(inspectRecording(recorded(0)).frames).toBe(32_000);
  expect(() => inspectRecording(Buffer.from("moo"))).toThrow("Not a WAV file");
});
