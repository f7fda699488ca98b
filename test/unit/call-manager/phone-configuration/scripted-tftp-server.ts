import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** A transfer of the peer: its packets in order. */
export interface ScriptedTransfer {
  /** The client's next packet to this transfer, as hex of its first four bytes. */
  next(): Promise<string>;
  send(packet: Buffer): void;
  /** Sends from another port. */
  sendFromElsewhere(packet: Buffer): Promise<string>;
}

export interface ScriptedTftpServer {
  port: number;
  /** Read requests in order: file, then options. */
  requests: string[][];
  close(): Promise<void>;
}

/** A TFTP server that does what a test says for each read request. */
export async function startScriptedTftpServer(
  play: (transfer: ScriptedTransfer, request: number) => Promise<void> | void,
): Promise<ScriptedTftpServer> {
  const sockets = new Set<Socket>();
  const requests: string[][] = [];
  const listener = await open();
  listener.on("message", (packet, from) => {
    const [file = "", , ...options] = packet.toString("latin1", 2).replace(/\0$/, "").split("\0");
    requests.push([file, ...options]);
    void open().then(async (socket) => play(transferOver(socket, from), requests.length));
  });

  async function open(): Promise<Socket> {
    const socket = createSocket("udp4");
    sockets.add(socket);
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    return socket;
  }

  function transferOver(socket: Socket, client: RemoteInfo): ScriptedTransfer {
    const packets: string[] = [];
    const waiting: ((packet: string) => void)[] = [];
    socket.on("message", (packet) => {
      const head = packet.toString("hex", 0, 4);
      const first = waiting.shift();
      if (first) first(head);
      else packets.push(head);
    });
    return {
      next: () => {
        const packet = packets.shift();
        return packet === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(packet);
      },
      send: (packet) => socket.send(packet, client.port, client.address),
      async sendFromElsewhere(packet) {
        const other = await open();
        other.send(packet, client.port, client.address);
        const [answer] = (await once(other, "message")) as [Buffer];
        return answer.toString("hex", 0, 4);
      },
    };
  }

  return {
    port: (listener.address() as AddressInfo).port,
    requests,
    async close() {
      await Promise.all([...sockets].map((socket) => new Promise<void>((closed) => socket.close(() => closed()))));
    },
  };
}

export function data(block: number, content: string | Buffer): Buffer {
  return Buffer.concat([words(3, block), Buffer.from(content as Buffer)]);
}

export function failure(code: number, message: string): Buffer {
  return Buffer.concat([words(5, code), Buffer.from(`${message}\0`)]);
}

export function options(text: string): Buffer {
  return Buffer.concat([words(6), Buffer.from(text)]);
}

function words(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 2);
  for (const [index, number] of numbers.entries()) bytes.writeUInt16BE(number, index * 2);
  return bytes;
}
