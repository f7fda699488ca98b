const RATE_HZ = 16_000;
const LEVEL = 0.5;

/** Formants of vowels: the first three resonances of the vocal tract, Hz. @source Peterson & Barney 1952, averages for men */
const VOWELS = {
  a: [730, 1090, 2440],
  e: [530, 1840, 2480],
  i: [270, 2290, 3010],
  o: [570, 840, 2410],
} as const;

interface Syllable {
  vowel: keyof typeof VOWELS;
  fromHz: number;
  toHz: number;
  ms: number;
  /** Silence after the syllable. */
  restMs: number;
}

/** Speech melody of "good morning, everybody", without words. */
const PHRASE: readonly Syllable[] = [
  { vowel: "o", fromHz: 118, toHz: 126, ms: 260, restMs: 40 },
  { vowel: "a", fromHz: 150, toHz: 138, ms: 320, restMs: 30 },
  { vowel: "i", fromHz: 132, toHz: 112, ms: 300, restMs: 220 },
  { vowel: "e", fromHz: 140, toHz: 156, ms: 240, restMs: 30 },
  { vowel: "i", fromHz: 152, toHz: 140, ms: 200, restMs: 30 },
  { vowel: "o", fromHz: 136, toHz: 124, ms: 280, restMs: 30 },
  { vowel: "i", fromHz: 120, toHz: 96, ms: 460, restMs: 120 },
];

/** A WAV file (16 kHz, 16 bit, mono) of a synthetic, voice-like phrase; always the same bytes. */
export function createDemoRecording(): Uint8Array<ArrayBuffer> {
  const parts = PHRASE.map(synthesizeSyllable);
  const samples = new Int16Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return wavOf(samples);
}

/** One syllable: harmonics of the pitch, weighted by the formants. */
function synthesizeSyllable({ vowel, fromHz, toHz, ms, restMs }: Syllable): Int16Array {
  const sounding = Math.round((ms * RATE_HZ) / 1000);
  const wave = new Float64Array(sounding);
  const weights = harmonicWeights(VOWELS[vowel], (fromHz + toHz) / 2);
  let phase = 0;
  for (let i = 0; i < sounding; i++) {
    phase += (2 * Math.PI * (fromHz + ((toHz - fromHz) * i) / sounding)) / RATE_HZ;
    const swell = Math.min(1, i / 480, (sounding - i) / 960);
    wave[i] = swell * weights.reduce((sum, weight, harmonic) => sum + weight * Math.sin((harmonic + 1) * phase), 0);
  }
  const peak = wave.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const samples = new Int16Array(sounding + Math.round((restMs * RATE_HZ) / 1000));
  wave.forEach((value, i) => {
    samples[i] = Math.round((value / peak) * LEVEL * 32_767);
  });
  return samples;
}

function harmonicWeights(resonancesHz: readonly number[], pitchHz: number): number[] {
  const count = Math.floor(3_400 / pitchHz);
  return Array.from({ length: count }, (_, index) => {
    const hz = (index + 1) * pitchHz;
    const passed = resonancesHz.reduce((sum, centre) => sum + 1 / (1 + ((hz - centre) / 90) ** 2), 0);
    return passed / (index + 1) ** 0.5;
  });
}

/** @source RIFF/WAVE, Multimedia Programming Interface and Data Specifications 1.0 */
function wavOf(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const file = Buffer.alloc(44 + samples.length * 2);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(RATE_HZ, 24);
  file.writeUInt32LE(RATE_HZ * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(samples.length * 2, 40);
  samples.forEach((sample, index) => void file.writeInt16LE(sample, 44 + index * 2));
  return new Uint8Array(file);
}
