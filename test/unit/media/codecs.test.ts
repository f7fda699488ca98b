import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CODECS, type Codec, isCodec } from "../../../src/media/codecs.ts";
import { externalProgram } from "../../support/external-programs.ts";

const RATE = 16_000;
/** Hard cases, all in one: silence, a soft and a full tone, a sweep, noise beyond full scale, a square wave that steps through all pitches. */
const HARD = Int16Array.from({ length: 6 * RATE }, (_, i) => {
  const at = i % RATE;
  const kinds = [
    0,
    300 * Math.sin(at / 6),
    32_767 * Math.sin(at / 3),
    30_000 * Math.sin((at * at) / 9_000),
    ((Math.imul(i, 2_654_435_761) >>> 8) / 2 ** 24 - 0.5) * 80_000,
    Math.floor(at / (2 + at / 2_000)) % 2 ? 32_767 : -32_768,
  ];
  return Math.max(-32_768, Math.min(32_767, Math.round(kinds[Math.floor(i / RATE)] ?? 0)));
});

/** Encodes in pieces of odd lengths, as they may come. */
function inPieces(codec: Codec, pcm: Int16Array): Buffer {
  const encode = CODECS[codec].createEncoder();
  const codes: Uint8Array[] = [];
  for (let at = 0, n = 1; at < pcm.length; at += n, n = (n * 7) % 4_001) codes.push(encode(pcm.subarray(at, at + n)));
  return Buffer.concat(codes);
}

function ffmpeg(input: Uint8Array, ...args: string[]): Buffer {
  return execFileSync("ffmpeg", ["-v", "error", ...args, "-"], { input, maxBuffer: 1e8 });
}

describe("codecs", () => {
  it("have the payload types of RFC 3551; other names are rejected", () => {
    expect(Object.entries(CODECS).map(([name, { payloadType }]) => [name, payloadType])).toEqual([
      ["PCMU", 0],
      ["PCMA", 8],
      ["G722", 9],
    ]);
    expect(["G722", "toString", "g722", null].map(isCodec)).toEqual([true, false, false, false]);
  });

  it("encode G.722 independent of piece boundaries, one byte for two samples, with the bytes of a reference encoder", () => {
    const codes = inPieces("G722", HARD);
    expect(codes.equals(CODECS.G722.createEncoder()(HARD))).toBe(true);
    expect(codes).toHaveLength(HARD.length / 2);
    expect(createHash("sha256").update(codes).digest("hex").slice(0, 16)).toBe("ee2ef20f8b0bf016");
  });
});

describe("voice decoders", () => {
  it.each(["PCMU", "PCMA", "G722"] as const)("%s gives back a voice of 8 kHz, piece by piece", (codec) => {
    const { rateHz, createVoiceDecoder, silenceByte } = CODECS[codec];
    const pcm = Int16Array.from({ length: rateHz }, (_, i) =>
      Math.round(8_000 * Math.sin((2 * Math.PI * 700 * i) / rateHz)),
    );
    const codes = inPieces(codec, pcm);
    const decode = createVoiceDecoder();
    const heard = Float64Array.from([...decode(codes.subarray(0, 161)), ...decode(codes.subarray(161))]);
    expect(heard).toHaveLength(8_000);
    // Amplitude at the tone's frequency, whatever the delay, and what else there is.
    const part = heard.subarray(800);
    const at = (wave: (phase: number) => number): number =>
      part.reduce((sum, sample, i) => sum + sample * wave((2 * Math.PI * 700 * i) / 8_000), 0);
    const power = (2 * (at(Math.sin) ** 2 + at(Math.cos) ** 2)) / part.length;
    const total = part.reduce((sum, sample) => sum + sample ** 2, 0);
    expect(Math.sqrt((2 * power) / part.length)).toBeGreaterThan(7_800);
    expect(Math.sqrt((2 * power) / part.length)).toBeLessThan(8_200);
    expect(10 * Math.log10(power / (total - power))).toBeGreaterThan(30);
    const silence = createVoiceDecoder()(new Uint8Array(8_000).fill(silenceByte)).subarray(800);
    expect(silence.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)).toBeLessThan(40);
  });
});

externalProgram("ffmpeg").describe("codecs, by ffmpeg", () => {
  it("give the same G.722 bytes as ffmpeg", () => {
    const raw = ["-f", "s16le", "-ar", String(RATE), "-ac", "1", "-i", "-"];
    const theirs = ffmpeg(new Uint8Array(HARD.buffer), ...raw, "-c:a", "g722", "-f", "g722");
    expect(inPieces("G722", HARD).equals(theirs)).toBe(true);
  });

  it.each([
    ["G722", "g722"],
    ["PCMA", "alaw"],
    ["PCMU", "mulaw"],
  ] as const)("%s is heard as what it was, and its byte of silence as silence", (codec, format) => {
    const { rateHz, silenceByte } = CODECS[codec];
    const pcm = Int16Array.from({ length: rateHz }, (_, i) =>
      Math.round(10_000 * Math.sin((2 * Math.PI * 700 * i) / rateHz)),
    );
    const input = Buffer.concat([inPieces(codec, pcm), Buffer.alloc(8_000, silenceByte)]);
    const rate = codec === "G722" ? [] : ["-ar", "8000", "-ac", "1"];
    const heard = ffmpeg(input, "-f", format, ...rate, "-i", "-", "-f", "s16le");
    const samples = new Int16Array(heard.buffer, heard.byteOffset, heard.length / 2);
    const delay = codec === "G722" ? 22 : 0;
    const error = pcm.reduce((sum, sample, i) => sum + (sample - (samples[i + delay] ?? 0)) ** 2, 0) / pcm.length;
    const loud = samples.subarray(rateHz + 800).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    expect(10 * Math.log10(5e7 / error)).toBeGreaterThan(30);
    expect(loud).toBeLessThan(40);
  });
});
