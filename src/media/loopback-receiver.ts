import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, isIPv4 } from "node:net";
import { BugError } from "../lib/errors.ts";
import { initialRtpState, PACKET_BYTES, parseRtpPacket } from "./rtp.ts";

/** Receives one stream on this machine, as a phone would. */
export interface LoopbackReceiver {
  port: number;
  /** Resolves once all packets of `payload` have arrived complete, in any order. */
  received: Promise<void>;
  close(): void;
}

/** Opens a receiver for the stream with an SSRC that sends `payload` once, from its first packet on. */
export async function openLoopbackReceiver(
  address: string,
  ssrc: number,
  payload: Uint8Array,
): Promise<LoopbackReceiver> {
  if (!isIPv4(address)) throw new BugError("The listener needs an IPv4 address.", { address });
  const socket = createSocket("udp4");
  const missing = new Set(Array.from({ length: payload.length / PACKET_BYTES }, (_, at) => at));
  const { sequence: first } = initialRtpState(ssrc);
  const received = new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("message", (datagram) => {
      const packet = parseRtpPacket(datagram);
      if (packet?.ssrc !== ssrc) return;
      const at = (packet.sequence - first + 0x10000) % 0x10000;
      const sent = payload.subarray(at * PACKET_BYTES, (at + 1) * PACKET_BYTES);
      if (Buffer.compare(packet.payload, sent) === 0) missing.delete(at);
      if (missing.size === 0) resolve();
    });
  });
  // A caller that awaits it gets the error; nothing awaits it when the stream could not be opened.
  received.catch(() => undefined);
  socket.bind(0, address);
  await Promise.race([once(socket, "listening"), received]);
  return { port: (socket.address() as AddressInfo).port, received, close: () => socket.close() };
}
