import { type AddressInfo, createServer, type Socket } from "node:net";

/** A PDU as octets: no library of the product takes part. */
export interface RawPdu {
  command: number;
  status: number;
  sequence: number;
  body: Buffer;
}

/** An SMPP server that builds and reads its PDUs octet by octet. */
export interface RawSmppPeer {
  readonly port: number;
  /** PDUs received so far, oldest first. */
  readonly received: readonly RawPdu[];
  /** Sends a PDU to the bound client. */
  send(command: number, body: Buffer, sequence?: number): void;
  /** Sends octets as they are. */
  write(octets: Buffer): void;
  /** Resolves with the first PDU that fits, received already or later. */
  came(fits: (pdu: RawPdu) => boolean): Promise<RawPdu>;
  close(): Promise<void>;
}

export const COMMANDS = {
  bindTransceiver: 0x09,
  submitSm: 0x04,
  deliverSm: 0x05,
  dataSm: 0x103,
  enquireLink: 0x15,
  unbind: 0x06,
  genericNack: 0x8000_0000,
  response: 0x8000_0000,
} as const;

/** Status and message id of the response to a submission; null sends no response. */
export type RawVerdict = (pdu: RawPdu, count: number) => { status?: number; id?: string } | null;

export async function openRawSmppPeer(verdict: RawVerdict = (_, count) => ({ id: `r${count}` })): Promise<RawSmppPeer> {
  const received: RawPdu[] = [];
  const sockets = new Set<Socket>();
  let submissions = 0;
  let waiting: (() => void)[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    let pending = Buffer.alloc(0);
    socket.on("data", (octets) => {
      pending = Buffer.concat([pending, octets]);
      while (pending.length >= 16 && pending.length >= pending.readUInt32BE(0)) {
        const length = pending.readUInt32BE(0);
        const pdu = {
          command: pending.readUInt32BE(4),
          status: pending.readUInt32BE(8),
          sequence: pending.readUInt32BE(12),
          body: Buffer.from(pending.subarray(16, length)),
        };
        pending = pending.subarray(length);
        received.push(pdu);
        respond(socket, pdu);
        for (const look of [...waiting]) look();
      }
    });
  });
  const respond = (socket: Socket, pdu: RawPdu): void => {
    const { command, sequence } = pdu;
    if (command === COMMANDS.bindTransceiver)
      socket.write(encode(COMMANDS.response + command, 0, sequence, cstring("raw")));
    else if (command === COMMANDS.enquireLink)
      socket.write(encode(COMMANDS.response + command, 0, sequence, Buffer.alloc(0)));
    else if (command === COMMANDS.submitSm) {
      const { status = 0, id = "" } = verdict(pdu, ++submissions) ?? { status: -1 };
      // An error response has no body. @source SMPP 3.4 §4.4.2
      if (status >= 0)
        socket.write(
          encode(COMMANDS.response + command, status, sequence, status === 0 ? cstring(id) : Buffer.alloc(0)),
        );
    }
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const write = (octets: Buffer): void => {
    for (const socket of sockets) socket.write(octets);
  };
  return {
    port: (server.address() as AddressInfo).port,
    received,
    send: (command, body, sequence = 77) => write(encode(command, 0, sequence, body)),
    write,
    came: (fits) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = received.find(fits);
          if (!found) return;
          waiting = waiting.filter((each) => each !== look);
          resolve(found);
        };
        waiting.push(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function encode(command: number, status: number, sequence: number, body: Buffer): Buffer {
  const head = Buffer.alloc(16);
  for (const [at, value] of [16 + body.length, command, status, sequence].entries()) head.writeUInt32BE(value, at * 4);
  return Buffer.concat([head, body]);
}

function cstring(text: string): Buffer {
  return Buffer.from(`${text}\0`, "latin1");
}

/** Members of a deliver_sm. */
export interface RawDelivery {
  from?: string;
  to?: string;
  esmClass?: number;
  coding?: number;
  octets?: Buffer | string;
  /** Optional parameters by tag. */
  tlvs?: readonly (readonly [number, Buffer])[];
}

/** Body of a deliver_sm. @source SMPP 3.4 §4.6.1 */
export function deliverBody({
  from = "4915112345678",
  to = "15550100",
  esmClass = 0,
  coding = 0,
  octets = "",
  tlvs = [],
}: RawDelivery): Buffer {
  const message = Buffer.from(octets as string, "latin1");
  return Buffer.concat([
    cstring(""),
    Buffer.from([1, 1]),
    cstring(from),
    Buffer.from([1, 1]),
    cstring(to),
    Buffer.from([esmClass, 0, 0]),
    cstring(""),
    cstring(""),
    Buffer.from([0, 0, coding, 0, message.length]),
    message,
    ...tlvs.map(([tag, value]) => tlv(tag, value)),
  ]);
}

function tlv(tag: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(tag, 0);
  head.writeUInt16BE(value.length, 2);
  return Buffer.concat([head, value]);
}

/** Members of a submit_sm. @source SMPP 3.4 §4.4.1 */
export function readSubmission(body: Buffer): {
  sourceTon: number;
  sourceNpi: number;
  source: string;
  targetTon: number;
  targetNpi: number;
  target: string;
  octets: Buffer;
} {
  let at = 0;
  const octet = (): number => body[at++] ?? 0;
  const text = (): string => {
    const end = body.indexOf(0, at);
    const found = body.toString("latin1", at, end);
    at = end + 1;
    return found;
  };
  text();
  const [sourceTon, sourceNpi, source] = [octet(), octet(), text()];
  const [targetTon, targetNpi, target] = [octet(), octet(), text()];
  at += 3;
  text();
  text();
  at += 4;
  const length = octet();
  return { sourceTon, sourceNpi, source, targetTon, targetNpi, target, octets: body.subarray(at, at + length) };
}
