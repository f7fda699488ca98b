import { RECORDING_HZ } from "./wav.ts";

/** The samples of any file that the browser can play, as one channel at the console's rate. Rejects for other files. */
export async function decodeAudio(file: Blob): Promise<Float32Array> {
  // An offline context decodes at its own rate, whatever that of the file is.
  const context = new OfflineAudioContext(1, 1, RECORDING_HZ);
  return mixed(await context.decodeAudioData(await file.arrayBuffer()));
}

/** Samples of one channel at another rate. */
export async function resampled(samples: Float32Array<ArrayBuffer>, fromHz: number): Promise<Float32Array> {
  if (fromHz === RECORDING_HZ || samples.length === 0) return samples;
  const context = new OfflineAudioContext(1, Math.ceil((samples.length * RECORDING_HZ) / fromHz), RECORDING_HZ);
  const buffer = context.createBuffer(1, samples.length, fromHz);
  buffer.copyToChannel(samples, 0);
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.start();
  return (await context.startRendering()).getChannelData(0);
}

function mixed(buffer: AudioBuffer): Float32Array {
  if (buffer.numberOfChannels === 1) return buffer.getChannelData(0);
  const sum = new Float32Array(buffer.length);
  for (let channel = 0; channel < buffer.numberOfChannels; channel++) {
    const samples = buffer.getChannelData(channel);
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (samples[i] ?? 0) / buffer.numberOfChannels;
  }
  return sum;
}
