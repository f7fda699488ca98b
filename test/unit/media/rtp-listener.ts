import { createSocket } from "node:dgram";

/** One packet as it came in; `at` is monotonic ms. */
export interface ReceivedRtpPacket {
  at: number;
  payloadType: number;
  marker: boolean;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payload: Buffer;
}

/** A socket that has joined a multicast group on the loopback interface. */
export interface RtpListener {
  readonly group: string;
  readonly port: number;
  readonly arrivals: ReceivedRtpPacket[];
  /** Resolves with the arrivals once there are `count`. */
  heard(count: number): Promise<ReceivedRtpPacket[]>;
  close(): void;
}

/** The time by which arrivals are noted. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * Joins a group of the caller's own: `number` tells groups of one test process apart, its id those of others, since
 * multicast on the loopback interface is heard by every process of the machine.
 */
export async function listenRtp(number: number): Promise<RtpListener> {
  const group = `239.${192 + number}.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`;
  const port = 20_480 + 2 * (process.pid >> 16);
  const arrivals: ReceivedRtpPacket[] = [];
  let wake = (): void => undefined;
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  socket.on("message", (datagram) => {
    arrivals.push(parse(datagram));
    wake();
  });
  await new Promise<void>((resolve) => socket.bind(port, group, resolve));
  socket.addMembership(group, "127.0.0.1");
  return {
    group,
    port,
    arrivals,
    async heard(count) {
      while (arrivals.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return arrivals;
    },
    close: () => socket.close(),
  };
}

function parse(datagram: Buffer): ReceivedRtpPacket {
  const [first = 0, second = 0] = datagram;
  if (first !== 0x80) throw new RangeError(`not a plain RTP header: ${first}`);
  return {
    at: monotonicMs(),
    payloadType: second & 0x7f,
    marker: second >= 0x80,
    sequence: datagram.readUInt16BE(2),
    timestamp: datagram.readUInt32BE(4),
    ssrc: datagram.readUInt32BE(8),
    payload: datagram.subarray(12),
  };
}
