import { createSocket, type Socket } from "node:dgram";
import { NetworkUnreachableError } from "#plugin-api";
import { sentence } from "../sentences.ts";
import { SipError } from "../user-agent/hop.ts";

/** RTP and RTCP port of one call: audio is sent from the even port, and both receive. */
export interface MediaPort {
  readonly port: number;
  onRtp: (packet: Buffer, from: string) => void;
  onRtcp: (packet: Buffer, from: string) => void;
  close(): void;
}

/** Pool of port pairs. */
export interface MediaPortPool {
  /**
   * Opens a pair on the local address; rejects with SipError if none is free, with NetworkUnreachableError if this
   * machine does not have the address.
   */
  allocate(address: string): Promise<MediaPort>;
  /** Closes all pairs at shutdown, also those that are kept for final reports; none can be opened afterwards. */
  close(): void;
}

/**
 * Creates a pool of ports from `first` to `last`; even ports carry RTP. Recently used ports are reused last, because
 * packets may still arrive.
 */
export function createMediaPortPool({ first, last }: { first: number; last: number }): MediaPortPool {
  const firstEven = first + (first % 2);
  const pairs = Math.floor((last - firstEven + 1) / 2);
  const used = new Set<number>();
  const open = new Set<MediaPort>();
  let next = 0;
  let isClosed = false;

  const nextFreePort = (): number | null => {
    for (let tried = 0; tried < pairs; tried++) {
      const port = firstEven + 2 * (next++ % pairs);
      if (!used.has(port)) return port;
    }
    return null;
  };

  return {
    async allocate(address) {
      // Any number of neighbouring ports may be taken by another program.
      for (let tries = 0; tries < pairs && !isClosed; tries++) {
        const port = nextFreePort();
        if (port === null) break;
        used.add(port);
        const pair = await openPair(address, port).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "EADDRNOTAVAIL") return null;
          used.delete(port);
          const problem = sentence("media.foreign-address", { address });
          throw new NetworkUnreachableError(problem, { address }, error);
        });
        if (!pair) {
          used.delete(port);
          continue;
        }
        const media = createMediaPort(pair, port, () => {
          used.delete(port);
          open.delete(media);
        });
        open.add(media);
        if (isClosed) media.close();
        return media;
      }
      throw new SipError(sentence("no-port"));
    },
    close() {
      isClosed = true;
      for (const media of [...open]) media.close();
    },
  };
}

async function openPair(address: string, port: number): Promise<[Socket, Socket]> {
  // The streamer sends from the same port through its own socket.
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
