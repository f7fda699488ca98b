import { createSocket, type Socket } from "node:dgram";
import { parseRtp } from "./rtp.ts";
import { addPacket, createStreamRecord, isPlayable, type StreamRecord } from "./stream-record.ts";

/** Requested receive buffer per socket, so that a busy process loses no packets; the kernel may grant less. */
const RECEIVE_BUFFER_BYTES = 4 << 20;
const LOOPBACK = "127.0.0.1";

/** One address that is listened to, and all streams received there, oldest first. */
export interface RtpEndpoint {
  readonly address: string;
  readonly port: number;
  streams: StreamRecord[];
  /** Datagrams that a phone could not play: no RTP, another codec or frame length. */
  discarded: number;
}

/** Opens and shares receive sockets: one per multicast group and port, one per unicast listener. */
export class RtpEndpoints {
  readonly #at: () => number;
  readonly #groups = new Map<string, Promise<RtpEndpoint>>();
  readonly #sockets = new Map<RtpEndpoint, Socket>();
  #stopped = false;

  /** `at` returns the simulator's time in ms for each packet. */
  constructor(at: () => number) {
    this.#at = at;
  }

  /** The endpoint of a multicast group, opened on first use; rejects if the socket can't be opened. */
  openMulticast(group: string, port: number): Promise<RtpEndpoint> {
    const key = `${group}:${port}`;
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const opened = this.#open(group, port, null, (socket) => socket.addMembership(group, LOOPBACK));
    this.#groups.set(key, opened);
    opened.catch(() => this.#groups.delete(key));
    return opened;
  }

  /** The endpoint of a single phone, at its own address; accepts packets from `sender` only ("0.0.0.0": anybody). */
  openUnicast(address: string, port: number, sender: string): Promise<RtpEndpoint> {
    return this.#open(address, port, sender === "0.0.0.0" ? null : sender, () => undefined);
  }

  /** Closes the endpoint's socket; its streams stay readable. Idempotent. */
  close(source: RtpEndpoint): void {
    this.#sockets.get(source)?.close();
    this.#sockets.delete(source);
    this.#groups.delete(`${source.address}:${source.port}`);
  }

  /** Drops all streams, and closes endpoints that are not in `wanted`. */
  clear(wanted: ReadonlySet<RtpEndpoint>): void {
    for (const source of [...this.#sockets.keys()]) {
      source.streams = [];
      source.discarded = 0;
      if (!wanted.has(source)) this.close(source);
    }
  }

  /** Closes all sockets. */
  stop(): void {
    this.#stopped = true;
    for (const source of [...this.#sockets.keys()]) this.close(source);
  }

  #open(address: string, port: number, sender: string | null, ready: (socket: Socket) => void): Promise<RtpEndpoint> {
    const source: RtpEndpoint = { address, port, streams: [], discarded: 0 };
    const socket = createSocket({ type: "udp4", reuseAddr: true, recvBufferSize: RECEIVE_BUFFER_BYTES });
    return new Promise((resolve, reject) => {
      socket.on("error", (error) => {
        if (this.#sockets.has(source)) this.close(source);
        reject(error);
      });
      // Bound to the group instead of the wildcard address, for which Linux would deliver the packets of every joined group.
      socket.bind({ address, port, exclusive: false }, () => {
        ready(socket);
        this.#sockets.set(source, socket);
        if (this.#stopped) this.close(source);
        resolve(source);
      });
      socket.on("message", (datagram, remote) => {
        if (sender === null || remote.address === sender) recordDatagram(source, datagram, this.#at());
      });
    });
  }
}

/** Adds a datagram to its sender's stream; a sender that restarted gets a new stream. */
function recordDatagram(source: RtpEndpoint, datagram: Buffer, at: number): void {
  const packet = parseRtp(datagram);
  if (!packet || !isPlayable(packet)) {
    source.discarded++;
    return;
  }
  const stream = source.streams.findLast((candidate) => candidate.ssrc === packet.ssrc);
  if (!stream || !addPacket(stream, packet, at)) source.streams.push(createStreamRecord(packet, at));
}
