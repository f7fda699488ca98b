import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { Clock, Timer } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { ResolvedAddress, SsrfGuard } from "../../lib/ssrf-guard.ts";
import { TftpError } from "./tftp-error.ts";
import {
  acknowledgement,
  errorPacket,
  parseTftpPacket,
  readRequest,
  TFTP_ERROR,
  type TftpPacket,
} from "./tftp-packets.ts";

export interface TftpServer {
  host: string;
  port: number;
}

export interface TftpClientDeps {
  policy: SsrfGuard;
  clock: Clock;
  /** Aborts transfers in progress. */
  signal: AbortSignal;
}

/** Block size that fits into an Ethernet frame over IPv6. @source RFC 2348 */
const BLOCK_SIZE = 1_428;
const DEFAULT_BLOCK_SIZE = 512;
const MIN_BLOCK_SIZE = 8;
/** A configuration has some 10 to 60 KB. At this size no block number occurs twice. */
const MAX_BYTES = 1_048_576;
/** Waits for a response before the last packet is sent again; after the last one the transfer has failed. */
const TIMEOUTS_MS = [1_000, 1_500, 2_500];
/** A server that sends, but slowly, ends no wait. */
const MAX_TRANSFER_MS = 15_000;

/**
 * Reads one file. The address policy decides about the server; its packets must come from that address, and after the first
 * one from the same port. A server that refuses options is asked once more without them. Throws TftpError.
 * @source RFC 1350, RFC 2347 to 2349
 */
export async function readTftpFile(server: TftpServer, filename: string, deps: TftpClientDeps): Promise<Buffer> {
  if (deps.signal.aborted) throw stopped(server);
  const target = await deps.policy.resolveAllowed(server.host).catch((error: Error) => {
    throw new TftpError("dns", error.message, error);
  });
  const file = await transfer(server, target, filename, true, deps);
  return file ?? ((await transfer(server, target, filename, false, deps)) as Buffer);
}

function stopped({ host }: TftpServer): TftpError {
  return new TftpError("stopped", sentence("tftp.stopped", { host }));
}

/** The content of the file; null if the server refuses the options. */
function transfer(
  { host, port }: TftpServer,
  { address, family }: ResolvedAddress,
  filename: string,
  withOptions: boolean,
  { clock, signal }: TftpClientDeps,
): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    const parts: Buffer[] = [];
    let bytes = 0;
    let blockSize = DEFAULT_BLOCK_SIZE;
    // Null until options are acknowledged, -1 without a size.
    let announced: number | null = null;
    let serverPort: number | null = null;
    let nextBlock = 1;
    let tries = 0;
    let last = readRequest(filename, withOptions ? { blksize: BLOCK_SIZE, tsize: 0 } : {});
    let retry: Timer | null = null;
    let isOver = false;

    const send = (packet: Buffer, to: number): void => sendPacket(socket, packet, to, address);
    const deadline = clock.after(MAX_TRANSFER_MS, () => fail("timeout", sentence("tftp.timeout", { host, port })), {
      background: true,
    });
    const onAbort = (): void => finish(() => reject(stopped({ host, port })));
    signal.addEventListener("abort", onAbort, { once: true });

    /** A socket that is closed at once does not send its last packet. */
    function finish(settle: () => void, lastPacket?: Buffer): void {
      if (isOver) return;
      isOver = true;
      retry?.cancel();
      deadline.cancel();
      signal.removeEventListener("abort", onAbort);
      const close = (): void => void socket.close(settle);
      if (lastPacket && serverPort !== null) socket.send(lastPacket, serverPort, address, close);
      else close();
    }

    function fail(code: TftpError["code"], message: string, toServer?: number): void {
      const packet = toServer === undefined ? undefined : errorPacket(toServer, "refused");
      finish(() => reject(new TftpError(code, message)), packet);
    }

    /** Sends the next packet; only progress starts the waits from the beginning, duplicates do not. */
    function proceed(packet: Buffer) {
      last = packet;
      tries = 0;
      resend();
    }

    function resend() {
      retry?.cancel();
      const timeoutMs = TIMEOUTS_MS[tries++];
      if (timeoutMs === undefined) return fail("timeout", sentence("tftp.timeout", { host, port }));
      send(last, serverPort ?? port);
      retry = clock.after(timeoutMs, resend, { background: true });
    }

    function onOptions(options: ReadonlyMap<string, string>) {
      if (nextBlock > 1) return;
      if (announced !== null) return send(acknowledgement(0), serverPort as number);
      const size = countOf(options.get("blksize") ?? String(DEFAULT_BLOCK_SIZE));
      const total = options.has("tsize") ? countOf(options.get("tsize") ?? "") : -1;
      const isUnknown = [...options.keys()].some((name) => name !== "blksize" && name !== "tsize");
      if (!withOptions || isUnknown || size === null || total === null || size < MIN_BLOCK_SIZE || size > BLOCK_SIZE)
        return fail("answer", sentence("tftp.answer", { host, port }), TFTP_ERROR.optionsRefused);
      if (total > MAX_BYTES) return failTooLarge();
      blockSize = size;
      announced = total;
      proceed(acknowledgement(0));
    }

    function failTooLarge(): void {
      fail("too-large", sentence("tftp.too-large", { host, filename, max: MAX_BYTES }), TFTP_ERROR.diskFull);
    }

    function onData(block: number, data: Buffer) {
      // Repeated since our acknowledgement was lost; blocks that are neither this one nor the next one are strays.
      if (block === nextBlock - 1 && block > 0) return send(acknowledgement(block), serverPort as number);
      if (block !== nextBlock) return;
      if (data.length > blockSize)
        return fail("answer", sentence("tftp.answer", { host, port }), TFTP_ERROR.illegalOperation);
      bytes += data.length;
      if (bytes > MAX_BYTES) return failTooLarge();
      parts.push(Buffer.from(data));
      nextBlock += 1;
      if (data.length === blockSize) return proceed(acknowledgement(block));
      const isWhole = announced === null || announced < 0 || announced === bytes;
      const incomplete = sentence("tftp.incomplete", { host, filename, bytes, announced: announced ?? 0 });
      finish(
        () => (isWhole ? resolve(Buffer.concat(parts)) : reject(new TftpError("answer", incomplete))),
        acknowledgement(block),
      );
    }

    function onError({ code, message }: Extract<TftpPacket, { kind: "error" }>) {
      const isBeforeData = parts.length === 0;
      // Servers that know no options answer with an error of any of these codes.
      const mayBeOptions = code === TFTP_ERROR.optionsRefused || code === TFTP_ERROR.illegalOperation || code === 0;
      if (withOptions && isBeforeData && mayBeOptions) return finish(() => resolve(null));
      if (code === TFTP_ERROR.noFile) return fail("no-file", sentence("tftp.no-file", { host, filename }));
      fail("refused", sentence("tftp.refused", { host, filename, code, message }));
    }

    socket.on("message", (bytesReceived: Buffer, from: RemoteInfo) => {
      if (isOver || !isSameAddress(from.address, address)) return;
      const packet = parseTftpPacket(bytesReceived);
      if (!packet) return;
      if (serverPort !== null && from.port !== serverPort) {
        // An answer to a repeated request, or of a stranger: the transfer goes on.
        if (packet.kind !== "error") send(errorPacket(TFTP_ERROR.unknownTransfer, "unknown transfer"), from.port);
        return;
      }
      serverPort = from.port;
      if (packet.kind === "options") onOptions(packet.options);
      else if (packet.kind === "data") onData(packet.block, packet.data);
      else onError(packet);
    });
    socket.on("error", (error) => finish(() => reject(new TftpError("answer", `${host}: ${error.message}`, error))));
    socket.bind(0, () => {
      if (!isOver) resend();
    });
  });
}

function sendPacket(socket: Socket, packet: Buffer, port: number, address: string): void {
  // A packet that the network refuses is sent again after the wait.
  socket.send(packet, port, address, () => undefined);
}

/** A count as it stands in options; null for anything else. */
function countOf(text: string): number | null {
  return /^\d{1,10}$/.test(text) ? Number(text) : null;
}

function isSameAddress(one: string, other: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
  return plain(one) === plain(other);
}
