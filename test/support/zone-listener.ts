import { createSocket } from "node:dgram";
import { once } from "node:events";
import { expect } from "vitest";
import { decodeMuLaw } from "../../src/media/mu-law.ts";
import { fromPcm } from "../../src/media/samples.ts";

/** What a speaker of a zone hears. */
export interface ZoneListener {
  sound(): Float32Array;
  close(): void;
}

const MIN_CORRELATION = 0.9;
const MIN_ENERGY = 0.01;
const HEARD = { timeout: 120_000, interval: 500 };
/** Samples of a piece, and how many are looked for. */
const CHUNK = 400;
const CHUNKS = 8;
const RTP_HEADER_BYTES = 12;

/** A voice that resembles no other part of itself: a sweep with a rhythm. */
export const VOICE = Float32Array.from({ length: 16_000 }, (_, i) => {
  const t = i / 8_000;
  return 0.4 * Math.sin(2 * Math.PI * (300 + 400 * t) * t) * (0.6 + 0.4 * Math.sin(2 * Math.PI * 3.3 * t));
});

/** Joins a group on loopback, as a speaker does: PCMU from any number of sources. */
export async function listenToZone({ group, port }: { group: string; port: number }): Promise<ZoneListener> {
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  const packets: Buffer[] = [];
  socket.on("message", (packet) => void packets.push(packet.subarray(RTP_HEADER_BYTES)));
  socket.bind(port, group);
  await once(socket, "listening");
  socket.addMembership(group, "127.0.0.1");
  return { sound: () => fromPcm(decodeMuLaw(Buffer.concat(packets))), close: () => void socket.close() };
}

/** Whether a piece is in `sound` from `from` on, whatever its level. Normalised by the level, without its mean: it has none. */
function contains(sound: Float32Array, from: number, piece: Float32Array): boolean {
  const energyOf = (samples: Float32Array): number => samples.reduce((sum, sample) => sum + sample * sample, 0);
  const wanted = energyOf(piece);
  let energy = energyOf(sound.subarray(from, from + piece.length));
  for (let at = from; at + piece.length <= sound.length; at++) {
    let both = 0;
    for (let i = 0; i < piece.length; i++) both += (sound[at + i] ?? 0) * (piece[i] ?? 0);
    if (energy > MIN_ENERGY && both > MIN_CORRELATION * Math.sqrt(energy * wanted)) return true;
    energy += (sound[at + piece.length] ?? 0) ** 2 - (sound[at] ?? 0) ** 2;
  }
  return false;
}

/** Resolves once every piece of the voice was heard as it was: on a machine under load not all at once. */
export async function untilHeard(sound: () => Float32Array): Promise<void> {
  const missing = new Set(Array.from({ length: CHUNKS }, (_, n) => Math.floor((n * VOICE.length) / CHUNKS)));
  let from = 0;
  const look = (): number => {
    const heard = sound();
    for (const at of missing) if (contains(heard, from, VOICE.subarray(at, at + CHUNK))) missing.delete(at);
    from = Math.max(0, heard.length - CHUNK);
    return missing.size;
  };
  await expect.poll(look, HEARD).toBe(0);
}
