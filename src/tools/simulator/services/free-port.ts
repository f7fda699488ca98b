import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A UDP port of 127.0.0.1 that is free at the moment. */
export async function freePort(): Promise<number> {
  const probe = createSocket("udp4").bind(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}
