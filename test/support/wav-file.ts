/** What a WAV file of a test is like; the header says what is given here, true or not. */
export interface WavForm {
  rateHz: number;
  channels: number;
  bits: number;
  /** 1 PCM, 3 float, 0xFFFE extensible (`subFormat` then says which). */
  tag?: number;
  subFormat?: number;
  blockBytes?: number;
  /** Overrides the length that the data chunk announces. */
  announcedBytes?: number;
  /** Chunks before the data. */
  before?: Buffer;
}

/** One RIFF chunk, padded to an even length. */
export function chunk(name: string, content: Buffer, announced = content.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 0, "latin1");
  head.writeUInt32LE(announced, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

/** A WAV file around these sample bytes. */
export function wavFile(form: WavForm, data: Buffer): Buffer {
  const { rateHz, channels, bits, tag = 1 } = form;
  const format = Buffer.alloc(tag === 0xfffe ? 40 : 16);
  const block = form.blockBytes ?? (channels * bits) / 8;
  format.writeUInt16LE(tag, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(rateHz, 4);
  format.writeUInt32LE(rateHz * block, 8);
  format.writeUInt16LE(block, 12);
  format.writeUInt16LE(bits, 14);
  if (tag === 0xfffe) {
    format.writeUInt16LE(22, 16);
    format.writeUInt16LE(form.subFormat ?? 1, 24);
  }
  const announced = form.announcedBytes ?? data.length;
  const body = Buffer.concat([chunk("fmt ", format), form.before ?? Buffer.alloc(0), chunk("data", data, announced)]);
  return chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), body]));
}

/** Samples (full scale 1) in the given width; the same in every channel unless `second` is given. */
export function sampleBytes(samples: Float32Array, bits: number, float = false, second?: Float32Array): Buffer {
  const width = bits / 8;
  const channels = second ? 2 : 1;
  const bytes = Buffer.alloc(samples.length * width * channels);
  const write = (value: number, at: number): void => {
    const scaled = Math.round(value * 2 ** (bits - 1));
    if (float) bytes.writeFloatLE(value, at);
    else if (bits === 8) bytes.writeUInt8(Math.min(255, scaled + 128), at);
    else bytes.writeIntLE(Math.min(2 ** (bits - 1) - 1, scaled), at, width);
  };
  for (let i = 0; i < samples.length; i++) {
    write(samples[i] ?? 0, i * width * channels);
    if (second) write(second[i] ?? 0, i * width * channels + width);
  }
  return bytes;
}
