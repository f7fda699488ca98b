/** Result of parsing: no TLS, incomplete, or the server name (SNI) that the client asks for. */
export type ClientHelloResult = "none" | "more" | { serverName: string | null };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
/** A ClientHello with post-quantum key shares has some 2 KB. */
const MAX_CLIENT_HELLO_BYTES = 32 * 1024;

/**
 * Parses the server name of a TLS ClientHello. `bytes`: everything received so far.
 * @source RFC 8446 4.1.2 and 5.1, RFC 6066 3
 */
export function parseClientHello(bytes: Buffer): ClientHelloResult {
  const message = joinHandshakeRecords(bytes);
  if (message === null) return "none";
  if (message.length > 0 && message[0] !== CLIENT_HELLO) return "none";
  const isComplete = message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3);
  if (!isComplete) return bytes.length >= MAX_CLIENT_HELLO_BYTES ? "none" : "more";
  return { serverName: parseServerName(message.subarray(4, 4 + message.readUIntBE(1, 3))) };
}

/** Payload of the handshake records received so far; null if they are not handshake records. */
function joinHandshakeRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    if (bytes[offset] !== HANDSHAKE || (bytes[offset + 1] ?? 3) !== 3) return null;
    if (offset + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(offset + 3);
    if (length === 0) return null;
    parts.push(bytes.subarray(offset + 5, offset + 5 + length));
    offset += 5 + length;
  }
  return Buffer.concat(parts);
}

/** Null if absent or malformed; the tenant's own server would refuse a malformed one, too. */
function parseServerName(hello: Buffer): string | null {
  // Skips version and random, then session id, cipher suites and compression methods.
  let rest: Buffer | null = hello.subarray(34);
  for (const size of [1, 2, 1]) rest = rest && skipBlock(rest, size);
  let extensions = rest && readBlock(rest, 2);
  while (extensions && extensions.length >= 4) {
    const body = readBlock(extensions.subarray(2), 2);
    if (extensions.readUInt16BE(0) === SERVER_NAME) return body && parseHostName(body);
    extensions = body && extensions.subarray(4 + body.length);
  }
  return null;
}

function parseHostName(body: Buffer): string | null {
  const list = readBlock(body, 2);
  if (!list || list[0] !== HOST_NAME) return null;
  return readBlock(list.subarray(1), 2)?.toString("latin1").toLowerCase() ?? null;
}

/** The block after its length field of `size` bytes; null if it is truncated. */
function readBlock(bytes: Buffer, size: number): Buffer | null {
  if (bytes.length < size) return null;
  const length = bytes.readUIntBE(0, size);
  return bytes.length < size + length ? null : bytes.subarray(size, size + length);
}

function skipBlock(bytes: Buffer, size: number): Buffer | null {
  const block = readBlock(bytes, size);
  return block && bytes.subarray(size + block.length);
}
