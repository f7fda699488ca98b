import { createSocket, type Socket } from "node:dgram";
import { type AddressInfo, isIPv6 } from "node:net";
import { UpstreamError } from "../lib/errors.ts";

/** A received datagram. */
export interface ReceivedPacket {
  datagram: Buffer;
  /** Address that it came from. */
  sender: string;
  /** Zone key; null for the unicast port. */
  zone: string | null;
}

export interface MulticastGroup {
  group: string;
  port: number;
}

/** The sockets of an agent. */
export interface RtpReceiver {
  readonly port: number;
  /** Joins exactly these groups. */
  joinGroups(groups: readonly MulticastGroup[]): void;
  /** Joins all groups again after a change of the network: the system keeps them on the interface of before. */
  rejoin(): void;
  close(): void;
}

/** Map key of a group. */
export function groupKey({ group, port }: MulticastGroup): string {
  return `${group}:${port}`;
}

/** Opens the unicast port (0: chosen by the system); rejects with UpstreamError if that fails. */
export async function openRtpReceiver(port: number, onPacket: (packet: ReceivedPacket) => void): Promise<RtpReceiver> {
  const own = await openSocket(port, null, onPacket);
  const zones = new Map<string, { socket: Socket; at: MulticastGroup }>();
  return {
    port: (own.address() as AddressInfo).port,
    joinGroups(groups) {
      const wanted = new Map(groups.map((each) => [groupKey(each), each]));
      for (const [key, { socket }] of zones) {
        if (wanted.has(key)) continue;
        zones.delete(key);
        socket.close();
      }
      for (const [key, each] of wanted) {
        if (zones.has(key)) continue;
        openSocket(each.port, each.group, onPacket).then(
          (socket) => void zones.set(key, { socket, at: each }),
          // Retried after the next poll.
          () => undefined,
        );
      }
    },
    rejoin() {
      for (const [key, known] of zones) {
        const { at, socket } = known;
        openSocket(at.port, at.group, onPacket).then(
          (fresh) => {
            const isWanted = zones.get(key) === known;
            if (isWanted) zones.set(key, { socket: fresh, at });
            (isWanted ? socket : fresh).close();
          },
          // There is no route; the next change tries again.
          () => undefined,
        );
      }
    },
    close() {
      own.close();
      for (const { socket } of zones.values()) socket.close();
    },
  };
}

function openSocket(port: number, group: string | null, onPacket: (packet: ReceivedPacket) => void): Promise<Socket> {
  const type = group !== null && isIPv6(group) ? "udp6" : "udp4";
  const socket = createSocket({ type, reuseAddr: group !== null });
  return new Promise((resolve, reject) => {
    socket.once("error", (error) => reject(new UpstreamError("upstream", `port ${port}: ${error.message}`, {}, error)));
    const zone = group === null ? null : groupKey({ group, port });
    socket.on("message", (datagram, { address }) => onPacket({ datagram, sender: address, zone }));
    // Bound to the group, not the wildcard: Linux delivers the packets of every joined group to a wildcard socket.
    socket.bind(port, group ?? "0.0.0.0", () => {
      try {
        if (group !== null) socket.addMembership(group);
        resolve(socket);
      } catch (error) {
        socket.close();
        reject(new UpstreamError("upstream", `group ${group}: ${(error as Error).message}`, {}, error));
      }
    });
  });
}
