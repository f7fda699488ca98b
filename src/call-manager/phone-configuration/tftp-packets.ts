/** Options that are requested and acknowledged. @source RFC 2348, RFC 2349 */
export interface TftpOptions {
  blksize?: number;
  tsize?: number;
}

/** A packet of a server. */
export type TftpPacket =
  | { kind: "data"; block: number; data: Buffer }
  | { kind: "error"; code: number; message: string }
  | { kind: "options"; options: ReadonlyMap<string, string> };

/** Error codes. @source RFC 1350, RFC 2347 */
export const TFTP_ERROR = {
  noFile: 1,
  accessViolation: 2,
  diskFull: 3,
  illegalOperation: 4,
  unknownTransfer: 5,
  optionsRefused: 8,
} as const;

const OPCODE = { read: 1, data: 3, ack: 4, error: 5, options: 6 } as const;
const MAX_ERROR_TEXT = 200;

export function readRequest(filename: string, options: TftpOptions): Buffer {
  const texts = [filename, "octet", ...Object.entries(options).flatMap(([name, value]) => [name, String(value)])];
  return Buffer.concat([header(OPCODE.read), ...texts.map((text) => Buffer.from(`${text}\0`, "latin1"))]);
}

export function acknowledgement(block: number): Buffer {
  return header(OPCODE.ack, block);
}

export function errorPacket(code: number, message: string): Buffer {
  return Buffer.concat([header(OPCODE.error, code), Buffer.from(`${message}\0`, "latin1")]);
}

function header(...words: number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 2);
  for (const [index, word] of words.entries()) bytes.writeUInt16BE(word, index * 2);
  return bytes;
}

/** A packet that a server sends in a transfer; null for anything else. */
export function parseTftpPacket(packet: Buffer): TftpPacket | null {
  if (packet.length < 2) return null;
  const opcode = packet.readUInt16BE(0);
  if (opcode === OPCODE.options) return parseOptions(packet.subarray(2));
  if (packet.length < 4) return null;
  const word = packet.readUInt16BE(2);
  if (opcode === OPCODE.data) return { kind: "data", block: word, data: packet.subarray(4) };
  if (opcode !== OPCODE.error) return null;
  const [text = ""] = packet.subarray(4).toString("latin1").split("\0", 1);
  return { kind: "error", code: word, message: text.replace(/[^\x20-\x7e]+/g, " ").slice(0, MAX_ERROR_TEXT) };
}

/** Names are case-insensitive. Some servers leave out the last zero byte. @source RFC 2347 */
function parseOptions(bytes: Buffer): TftpPacket | null {
  const texts = bytes.toString("latin1").split("\0");
  if (texts.at(-1) === "") texts.pop();
  if (texts.length % 2 !== 0) return null;
  const options = new Map<string, string>();
  for (let at = 0; at < texts.length; at += 2) options.set((texts[at] ?? "").toLowerCase(), texts[at + 1] ?? "");
  return { kind: "options", options };
}
