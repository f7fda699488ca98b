import { createSocket, type Socket } from "node:dgram";
import { SipError } from "../user-agent/hop.ts";

/** A pair of ports of ours for one call: sound goes out from the even one, and what the other side sends is heard on both. */
export interface MediaPort {
  readonly port: number;
  onRtp: (packet: Buffer, from: string) => void;
  onRtcp: (packet: Buffer, from: string) => void;
  close(): void;
}

/** Lends pairs of ports. */
export interface MediaPortPool {
  /** Own IPv4 address that the call sees; rejects with SipFault when no pair is free. */
  allocate(address: string): Promise<MediaPort>;
}

const MAX_ATTEMPTS = 50;

/** Ports from `first` to `last`; the even ones are for sound. Those just used come last, for what is still on its way. */
export function createMediaPortPool({ first, last }: { first: number; last: number }): MediaPortPool {
  const least = first + (first % 2);
  const pairs = Math.floor((last - least + 1) / 2);
  const used = new Set<number>();
  let next = 0;

  const nextFreePort = (): number | null => {
    for (let tried = 0; tried < pairs; tried++) {
      const port = least + 2 * (next++ % pairs);
      if (!used.has(port)) return port;
    }
    return null;
  };

  return {
    async allocate(address) {
      for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
        const port = nextFreePort();
        if (port === null) break;
        used.add(port);
        const pair = await openPair(address, port).catch(() => null);
        if (!pair) {
          used.delete(port);
          continue;
        }
        return createMediaPort(pair, port, () => used.delete(port));
      }
      throw new SipError("no port for the sound is free");
    },
  };
}

async function openPair(address: string, port: number): Promise<[Socket, Socket]> {
  // The streamer sends from the same port, by a socket of its own.
  const rtp = await bindSocket(createSocket({ type: "udp4", reuseAddr: true }), port, address);
  try {
    return [rtp, await bindSocket(createSocket("udp4"), port + 1, address)];
  } catch (error) {
    rtp.close();
    throw error;
  }
}

function bindSocket(socket: Socket, port: number, address: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once("error", (error) => {
      socket.close();
      reject(error);
    });
    socket.bind(port, address, () => {
      socket.removeAllListeners("error").on("error", () => {});
      resolve(socket);
    });
  });
}

function createMediaPort([rtp, rtcp]: [Socket, Socket], port: number, onClosed: () => void): MediaPort {
  const media: MediaPort = {
    port,
    onRtp: () => {},
    onRtcp: () => {},
    close() {
      onClosed();
      rtp.close();
      rtcp.close();
      media.close = () => {};
    },
  };
  rtp.on("message", (packet, { address }) => media.onRtp(packet, address));
  rtcp.on("message", (packet, { address }) => media.onRtcp(packet, address));
  return media;
}
