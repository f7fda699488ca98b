import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import type { Clock, DeliveryItem, ProbeResult } from "#plugin-api";
import { parseZoneAddress } from "./zone-address.ts";

const LOOPBACK_TIMEOUT_MS = 2_000;
const RESEND_MS = 200;

/**
 * Joins the zone's group and sends packets that do not leave the machine (TTL 0). Receiving them proves that group,
 * route and local network work; multicast never proves that a speaker receives.
 */
export function probeZone(device: DeliveryItem["device"], clock: Clock): Promise<ProbeResult> {
  const { Group: group, Port: port, Codec: codec, TTL: ttl } = device.attributes;
  const { zone, error } = parseZoneAddress({ group, port, codec, ttl });
  if (!zone) return Promise.resolve({ proof: null, reason: error });
  const payload = randomBytes(12);
  return new Promise((resolve) => {
    const socket = createSocket({ type: "udp4", reuseAddr: true });
    const repeat = clock.every(RESEND_MS, () => send());
    const end = (result: ProbeResult): void => {
      repeat.cancel();
      timer.cancel();
      socket.removeAllListeners("message").close();
      resolve(result);
    };
    const timer = clock.after(LOOPBACK_TIMEOUT_MS, () =>
      end({ proof: null, reason: `The appliance does not receive its own packets on ${zone.group}.` }),
    );
    const failed = (error: Error): void => end({ proof: null, reason: `Sending failed: ${error.message}` });
    const send = (): void => socket.send(payload, zone.port, zone.group, (error) => error && failed(error));
    socket.once("error", failed);
    socket.on("message", (bytes) => {
      if (bytes.equals(payload)) end({ proof: "looped" });
    });
    socket.bind(zone.port, () => {
      try {
        socket.addMembership(zone.group);
        socket.setMulticastTTL(0);
        socket.setMulticastLoopback(true);
        send();
      } catch (error) {
        failed(error as Error);
      }
    });
  });
}
