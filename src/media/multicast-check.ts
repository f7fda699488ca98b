import { randomBytes } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { type AddressInfo, isIPv6 } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { openRtpPath } from "./rtp-stream.ts";

/** What is checked. */
export interface MulticastTarget {
  group: string;
  /** 0: a free one. */
  port: number;
  /** Interface by name or IPv4 address; null: as the routes lead. */
  networkInterface: string | null;
}

/** Result of a check: the address that packets come from, and why they do not leave, as text; one of them is null. */
export interface MulticastCheck {
  address: string | null;
  problem: string | null;
}

const TIMEOUT_MS = 1_000;
const RESEND_MS = 200;

/**
 * Proves that multicast passes the network stack up to the interface: sends packets to the group as a stream would, but
 * with TTL 0, so that they do not leave the machine, and receives their copies on that interface. A missing address, link
 * or route and a packet filter are found; whether a switch or a speaker gets anything is not proven. Never rejects.
 */
export async function checkMulticast(target: MulticastTarget, clock: Clock): Promise<MulticastCheck> {
  const receiver = createSocket({ type: isIPv6(target.group) ? "udp6" : "udp4", reuseAddr: true });
  try {
    await bind(receiver, target.port, target.group);
    const { port } = receiver.address() as AddressInfo;
    const path = await openRtpPath({ ...target, port, ttl: 0 });
    try {
      receiver.addMembership(target.group, path.membership);
      if (await isReceived(path.socket, receiver, clock)) return { address: path.address, problem: null };
      const problem = sentence("network.packets-lost", { group: target.group, address: path.address });
      return { address: null, problem };
    } finally {
      path.socket.close();
    }
  } catch (error) {
    const { message } = error as Error;
    return {
      address: null,
      problem: message.endsWith(".")
        ? message
        : sentence("network.sending-failed", { group: target.group, error: message }),
    };
  } finally {
    receiver.close();
  }
}

function bind(socket: Socket, port: number, group: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, group, resolve);
  });
}

/** False after a timeout; rejects with the system's error when a packet is refused. */
async function isReceived(sender: Socket, receiver: Socket, clock: Clock): Promise<boolean> {
  const payload = randomBytes(12);
  let stopTimers = (): void => undefined;
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const send = (): void => sender.send(payload, (error) => error && reject(error));
      const timer = clock.after(TIMEOUT_MS, () => resolve(false), { background: true });
      const repeat = clock.every(RESEND_MS, send);
      stopTimers = () => {
        timer.cancel();
        repeat.cancel();
      };
      for (const socket of [sender, receiver]) socket.on("error", reject);
      receiver.on("message", (bytes) => {
        if (bytes.equals(payload)) resolve(true);
      });
      send();
    });
  } finally {
    // Sending on a socket that is closed would throw.
    stopTimers();
  }
}
