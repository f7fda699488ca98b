import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock, yieldToEventLoop } from "../../../src/lib/clock.ts";
import { createRecordingConverter } from "../../../src/media/recording-converter.ts";
import { decodeWav, inspectWav } from "../../../src/media/wav.ts";
import { AUDIO_TYPES } from "../../../src/resources/messages/media-types.ts";
import type { UploadedFile } from "../../../src/schema/uploaded-file.ts";
import { createFileStore } from "../../../src/store/file-store.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { amplitudeAt } from "../../support/signal-analysis.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const folder = makeTempDir();
const FLAC = Buffer.from("fLaC that is none");

function put(bytes: Buffer, fileName: string, program?: string): Promise<UploadedFile> {
  const files = createFileStore(folder, createRecordingConverter(systemClock, program));
  const pieces = (async function* () {
    yield bytes;
  })();
  return files.put(pieces, { fileName, maxBytes: 1e6, types: AUDIO_TYPES });
}

const ffmpeg = externalProgram("ffmpeg");

ffmpeg.it("mp3, ogg and flac at any rate are stored as WAV", async () => {
  for (const [extension, format, rate] of [
    ["mp3", "mp3", 44_100],
    ["ogg", "ogg", 48_000],
    ["flac", "flac", 96_000],
  ] as const) {
    const source = ["-f", "lavfi", "-i", `sine=frequency=700:duration=1:sample_rate=${rate}`];
    const bytes = execFileSync("ffmpeg", ["-v", "error", ...source, "-f", format, "-"], { maxBuffer: 1e7 });
    const { file } = await put(bytes, `drill.v2.${extension}`);
    expect(file).toMatchObject({
      fileName: "drill.v2.wav",
      contentType: "audio/wav",
      metadata: { sampleRate: 16_000 },
    });
    const wav = await createFileStore(folder).read(file);
    expect(Math.abs(inspectWav(wav).durationMs - 1_000)).toBeLessThan(80);
    expect(amplitudeAt(decodeWav(wav).subarray(1_000, 7_000), 700)).toBeGreaterThan(0.1);
  }
});

ffmpeg.it("what can't be read is refused and leaves nothing", async () => {
  await expect(put(FLAC, "a.flac")).rejects.toMatchObject({
    type: "unsupported-media-type",
    message: "The file looks like audio/flac but could not be decoded.",
  });
  expect(readdirSync(join(folder, "files")).filter((name) => name.startsWith("arriving"))).toEqual([]);
});

it("rejects a file without ffmpeg", async () => {
  await expect(put(FLAC, "a.flac", "/nowhere/ffmpeg")).rejects.toMatchObject({
    type: "unsupported-media-type",
    message: "The file is audio/flac, which this appliance cannot convert without ffmpeg; send audio/wav.",
  });
});

it("converts two at once, urgent ones first", async () => {
  const place = makeTempDir();
  const program = join(place, "reader");
  // All note their turn, and go on when they are let.
  const name = `name="\${last#file:}"`;
  const wait = `while [ ! -e ${place}/go ] && [ ! -e ${place}/go-$name ]; do sleep 0.02; done`;
  writeFileSync(program, `#!/bin/sh\nfor last; do :; done\n${name}\necho "$name" >> ${place}/order\n${wait}\n`);
  chmodSync(program, 0o755);
  const converter = createRecordingConverter(systemClock, program);
  const reads = ["1", "2", "3", "4", "urgent"].map((name) =>
    converter.convert("audio/flac", "x", name, () => name === "urgent"),
  );
  const order = (): string[] =>
    existsSync(join(place, "order")) ? readFileSync(join(place, "order"), "utf8").trim().split("\n") : [];
  while (order().length < 2) await yieldToEventLoop(systemClock);
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop(systemClock);
  expect(order().sort()).toEqual(["1", "2"]);
  // One alone: of two that begin at once, either may note its turn first.
  writeFileSync(join(place, "go-1"), "");
  while (order().length < 3) await yieldToEventLoop(systemClock);
  writeFileSync(join(place, "go"), "");
  await Promise.all(reads);
  expect(order().slice(2)[0]).toBe("urgent");
  expect(order()).toHaveLength(5);
});
