import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, isIPv4 } from "node:net";
import { BugError } from "../lib/errors.ts";
import { initialRtpState, PACKET_BYTES, parseRtpPacket } from "./rtp.ts";

/** Listens to one stream on this machine, as a phone would. */
export interface LoopbackReceiver {
  port: number;
  /** Resolves once all packets of `payload` have come in whole, whatever their order. */
  received: Promise<void>;
  close(): void;
}

/** Opens an ear for the stream of an SSRC that sends `payload` once, from its first packet on. */
export async function openLoopbackReceiver(
  address: string,
  ssrc: number,
  payload: Uint8Array,
): Promise<LoopbackReceiver> {
  if (!isIPv4(address)) throw new BugError("An ear listens at an IPv4 address.", { address });
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
  // Whoever waits hears of it; nobody does when the stream could not be opened.
  received.catch(() => undefined);
  socket.bind(0, address);
  await Promise.race([once(socket, "listening"), received]);
  return { port: (socket.address() as AddressInfo).port, received, close: () => socket.close() };
}
