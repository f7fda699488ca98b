import { createSocket } from "node:dgram";
import { once } from "node:events";

/** One sound at a multicast group: packets of one source without a pause of more than a second. */
export interface HeardSound {
  /** Wall time of this machine at its first packet, epoch ms. */
  at: number;
  /** And at its last one up to now. */
  until: number;
}

/** Hears what is sent to a multicast group, as a speaker does. */
export interface SoundListener {
  /** All sounds from the beginning on, in order. */
  heard(): readonly HeardSound[];
  close(): void;
}

const PAUSE_MS = 1_000;
const SSRC_AT = 8;

/** Joins a group on the loopback; nothing sent from now on is missed. */
export async function listenToSounds({ group, port }: { group: string; port: number }): Promise<SoundListener> {
  const sounds: (HeardSound & { source: number })[] = [];
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  socket.on("message", (packet) => {
    const now = Date.now();
    const source = packet.readUInt32BE(SSRC_AT);
    const known = sounds.findLast((sound) => sound.source === source);
    if (known && now - known.until < PAUSE_MS) known.until = now;
    else sounds.push({ source, at: now, until: now });
  });
  socket.bind(port, group);
  await once(socket, "listening");
  socket.addMembership(group, "127.0.0.1");
  return {
    heard: () => sounds.map(({ at, until }) => ({ at, until })),
    close: () => void socket.close(),
  };
}
