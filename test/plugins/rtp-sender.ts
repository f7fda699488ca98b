import { createSocket } from "node:dgram";

/** Sends `packets` packets of silence to a group on the loopback interface, at once; resolves when they have left. */
export async function sendSilence(group: string, port: number, packets: number): Promise<void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  socket.setMulticastInterface("127.0.0.1");
  socket.setMulticastTTL(1);
  for (let index = 0; index < packets; index++) {
    const packet = Buffer.alloc(172, 0xff);
    packet.writeUInt16BE(index === 0 ? 0x8080 : 0x8000, 0);
    packet.writeUInt16BE(index, 2);
    packet.writeUInt32BE(index * 160, 4);
    packet.writeUInt32BE(7, 8);
    await new Promise<void>((resolve, reject) =>
      socket.send(packet, port, group, (error) => (error ? reject(error) : resolve())),
    );
  }
  await new Promise<void>((resolve) => socket.close(resolve));
}
