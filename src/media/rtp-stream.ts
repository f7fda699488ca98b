import { createSocket, type Socket } from "node:dgram";
import type { Clock } from "../lib/clock.ts";
import type { PacedTask } from "./pacer.ts";
import { encodeRtpPacket, initialRtpState, PACKET_BYTES } from "./rtp.ts";
import { createSrtpEncryptor } from "./srtp.ts";
import type { StreamEnded, StreamSpec } from "./streamer-messages.ts";

/** A packet later than this counts as late; phones' jitter buffers hold tens of ms. */
const LATE_THRESHOLD_MS = 5;

/** An open stream: a paced task that sends one packet per tick. */
export interface RtpStream extends PacedTask {
  readonly streamId: string;
  /** Changes how often the payload is sent in total; effective until the last packet has left. */
  setRepeats(repeats: number): void;
  /** Plays `parts` once instead of the payload, from the next packet on; packet numbers continue. */
  play(parts: readonly Uint8Array[]): void;
  /** Closes the socket and returns the statistics. */
  close(reason: StreamEnded["reason"]): StreamEnded;
}

/** Callbacks: `onFirstPacket` when the system has accepted a packet, `onFinished` once every send has completed. */
export interface RtpStreamDeps {
  clock: Clock;
  onFirstPacket(stream: RtpStream, firstPacketAt: number): void;
  onFinished(stream: RtpStream): void;
}

/** A socket for the spec's address; rejects with the system's error when address or interface cannot be used. */
export async function openRtpSocket(spec: StreamSpec): Promise<Socket> {
  return spec.sourcePort === undefined ? openConnectedSocket(spec) : openSharedPortSocket(spec.sourcePort);
}

/**
 * A socket on a port shared with another process's socket that is bound to one address: incoming datagrams go to that
 * more specific one as long as this one is neither connected nor bound to an address.
 */
async function openSharedPortSocket(port: number): Promise<Socket> {
  // Addresses are numeric; a look-up would cost a turn of the event loop per packet.
  const socket = createSocket({
    type: "udp4",
    reuseAddr: true,
    lookup: (address, _options, done) => done(null, address, 4),
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, "0.0.0.0", resolve);
  }).catch((error) => {
    socket.close();
    throw error;
  });
  socket.removeAllListeners("error");
  return socket;
}

async function openConnectedSocket(spec: StreamSpec): Promise<Socket> {
  const socket = createSocket("udp4");
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.bind(0, spec.interfaceAddress, () => {
        try {
          // Before connecting: the system selects the outgoing interface on connect.
          socket.setMulticastInterface(spec.interfaceAddress);
          socket.setMulticastTTL(spec.ttl);
          socket.setMulticastLoopback(true);
          socket.connect(spec.port, spec.group, () => resolve());
        } catch (error) {
          reject(error);
        }
      });
    });
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.removeAllListeners("error");
  return socket;
}

export function createRtpStream(spec: StreamSpec, socket: Socket, deps: RtpStreamDeps): RtpStream {
  const origin = initialRtpState(spec.ssrc);
  const encrypt = spec.secrecy && createSrtpEncryptor(spec.secrecy);
  const rolloverOf = (index: number): number => Math.floor((origin.sequence + index) / 0x10000);
  const rolloverBase = rolloverOf(spec.heardFrom ?? spec.offsetPackets);
  const packetsPerPass = spec.payload.length / PACKET_BYTES;
  const statistics = { firstPacketAt: null as number | null, packets: 0, sendErrors: 0, lateMaxMs: 0, latePackets: 0 };
  let total = packetsPerPass * spec.repeats;
  let pendingSends = 0;
  let done = false;
  const onSent = (error: Error | null): void => {
    pendingSends--;
    if (error) statistics.sendErrors++;
    else statistics.packets++;
    if (!error && statistics.firstPacketAt === null) {
      statistics.firstPacketAt = deps.clock.now();
      deps.onFirstPacket(stream, statistics.firstPacketAt);
    }
    if (done && pendingSends === 0) deps.onFinished(stream);
  };
  // A single host that does not listen reports it by ICMP later.
  socket.on("error", () => statistics.sendErrors++);

  const sendDatagram = (packet: Buffer): void => {
    if (spec.sourcePort === undefined) socket.send(packet, onSent);
    else socket.send(packet, spec.port, spec.group, onSent);
  };

  let playing: { part: Uint8Array; at: number }[] = [];
  let markNext = false;

  /** The audio of a packet: from what is being played, else from the payload. */
  const payloadAt = (index: number): Uint8Array => {
    const [now] = playing;
    if (!now) {
      const at = (index % packetsPerPass) * PACKET_BYTES;
      return spec.payload.subarray(at, at + PACKET_BYTES);
    }
    const sound = now.part.subarray(now.at, now.at + PACKET_BYTES);
    now.at += PACKET_BYTES;
    if (now.at >= now.part.length) playing.shift();
    return sound;
  };

  const send = (index: number): void => {
    const packet = encodeRtpPacket(
      {
        payloadType: spec.payloadType,
        // A resumed stream continues as after packet loss.
        marker: index === 0 || markNext,
        sequence: origin.sequence + index,
        timestamp: origin.timestamp + index * PACKET_BYTES,
        ssrc: spec.ssrc,
      },
      payloadAt(index),
    );
    markNext = false;
    pendingSends++;
    sendDatagram(encrypt ? encrypt(packet, rolloverOf(index) - rolloverBase) : packet);
  };

  const stream: RtpStream = {
    streamId: spec.streamId,
    tick(n, lateMs) {
      const index = spec.offsetPackets + n;
      if (index < total) send(index);
      statistics.lateMaxMs = Math.max(statistics.lateMaxMs, lateMs);
      if (lateMs > LATE_THRESHOLD_MS) statistics.latePackets++;
      if (index + 1 < total) return true;
      done = true;
      if (pendingSends === 0) deps.onFinished(stream);
      return false;
    },
    setRepeats(repeats) {
      total = packetsPerPass * repeats;
    },
    play(parts) {
      playing = parts.filter(({ length }) => length > 0).map((part) => ({ part, at: 0 }));
      markNext = true;
    },
    close(reason) {
      socket.close();
      return { streamId: spec.streamId, reason, ...statistics };
    },
  };
  return stream;
}
