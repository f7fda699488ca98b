import { createSocket, type RemoteInfo } from "node:dgram";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { SimulatorPhone } from "./phone.ts";
import { phoneConfigurationFile } from "./phone-documents.ts";

/** TFTP server of the phones' configuration, on the loopback interface. */
export interface SimulatedTftpServer {
  port: number;
  stop(): Promise<void>;
}

export interface TftpServerDeps {
  clock: Clock;
  phones: readonly SimulatorPhone[];
  /** URL at which phones authenticate pushes; null until it is set. */
  authUrl(): string | null;
}

const READ = 1;
const DATA = 3;
const ACK = 4;
const ERROR = 5;
const OPTIONS = 6;
const DEFAULT_BLOCK = 512;
const MAX_BLOCK = 65_464;
const TIMEOUT_MS = 1_000;
const MAX_TRIES = 5;

/** Answers read requests; each transfer has a port, as the protocol wants. @source RFC 1350, RFC 2347 to 2349 */
export function startTftpServer({ clock, phones, authUrl }: TftpServerDeps): Promise<SimulatedTftpServer> {
  const transfers = new Set<() => void>();
  const listener = createSocket("udp4");
  listener.on("message", (packet, from) => {
    const request = parseReadRequest(packet);
    if (request) transfers.add(send(request, from, { clock, phones, authUrl }, (end) => transfers.delete(end)));
  });
  return new Promise((resolve, reject) => {
    listener.on("error", reject);
    listener.bind(0, "127.0.0.1", () =>
      resolve({
        port: (listener.address() as AddressInfo).port,
        stop: () =>
          new Promise((stopped) => {
            for (const end of [...transfers]) end();
            listener.close(() => stopped());
          }),
      }),
    );
  });
}

interface ReadRequest {
  filename: string;
  options: Map<string, string>;
}

function parseReadRequest(packet: Buffer): ReadRequest | null {
  if (packet.length < 4 || packet.readUInt16BE(0) !== READ) return null;
  const [filename = "", mode = "", ...rest] = packet.toString("latin1", 2).split("\0");
  if (mode.toLowerCase() !== "octet") return null;
  const options = new Map<string, string>();
  for (let at = 0; at + 1 < rest.length; at += 2) options.set((rest[at] ?? "").toLowerCase(), rest[at + 1] ?? "");
  return { filename, options };
}

/** One transfer; the returned function ends it. */
function send(
  { filename, options }: ReadRequest,
  to: RemoteInfo,
  { clock, phones, authUrl }: TftpServerDeps,
  onEnd: (end: () => void) => void,
): () => void {
  const socket = createSocket("udp4");
  const phone = phones.find(({ name }) => filename.startsWith(name));
  const content = phone && phoneConfigurationFile(phone, filename, authUrl());
  let block = 0;
  let tries = 0;
  let timer = clock.after(TIMEOUT_MS, () => undefined, { background: true });
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    timer.cancel();
    socket.close();
    onEnd(end);
  };
  const sendLast = (packet: Buffer): void => socket.send(packet, to.port, to.address, end);
  const requested = Number(options.get("blksize") ?? DEFAULT_BLOCK);
  const blockSize = requested >= 8 && requested <= MAX_BLOCK ? requested : DEFAULT_BLOCK;
  const packetOf = (number: number): Buffer => {
    if (!content) return words(ERROR, 1, "File not found\0");
    if (number > 0) return words(DATA, number, content.subarray((number - 1) * blockSize, number * blockSize));
    const accepted = [...options.keys()].flatMap((name) =>
      name === "blksize" ? [name, String(blockSize)] : name === "tsize" ? [name, String(content.length)] : [],
    );
    return Buffer.concat([Buffer.from([0, OPTIONS]), Buffer.from(accepted.map((text) => `${text}\0`).join(""))]);
  };
  const transmit = () => {
    timer.cancel();
    if (tries++ >= MAX_TRIES) return end();
    socket.send(packetOf(block), to.port, to.address);
    timer = clock.after(TIMEOUT_MS, transmit, { background: true });
  };
  socket.on("error", end);
  socket.on("message", (packet, from) => {
    if (from.port !== to.port || packet.length < 4) return;
    if (packet.readUInt16BE(0) === ERROR) return end();
    if (packet.readUInt16BE(0) !== ACK || packet.readUInt16BE(2) !== block || !content) return;
    if (block > 0 && block * blockSize > content.length) return end();
    block += 1;
    tries = 0;
    transmit();
  });
  if (content) {
    block = options.has("blksize") || options.has("tsize") ? 0 : 1;
    socket.bind(0, "127.0.0.1", transmit);
  } else sendLast(packetOf(0));
  return end;
}

function words(opcode: number, number: number, rest: string | Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(opcode, 0);
  head.writeUInt16BE(number, 2);
  return Buffer.concat([head, Buffer.from(rest as Uint8Array)]);
}
