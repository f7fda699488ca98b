/** What a connection begins with: no TLS, not enough to say, or the host name that the caller asks for. */
export type ClientHelloResult = "none" | "more" | { serverName: string | null };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
/** own choice: with keys that withstand quantum computers they have some 2 KB */
const MAX_CLIENT_HELLO_BYTES = 32 * 1024;

/**
 * Reads which host a TLS client asks for, before anything is encrypted. `bytes`: all that came so far.
 * @source RFC 8446 4.1.2 and 5.1, RFC 6066 3
 */
export function parseClientHello(bytes: Buffer): ClientHelloResult {
  const message = joinHandshakeRecords(bytes);
  if (message === null) return "none";
  if (message.length > 0 && message[0] !== CLIENT_HELLO) return "none";
  const isWhole = message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3);
  if (!isWhole) return bytes.length >= MAX_CLIENT_HELLO_BYTES ? "none" : "more";
  return { serverName: parseServerName(message.subarray(4, 4 + message.readUIntBE(1, 3))) };
}

/** What the records hold, as far as it came; null where they are none of a handshake. */
function joinHandshakeRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE || (bytes[at + 1] ?? 3) !== 3) return null;
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return null;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(parts);
}

/** Null for none, and for what can't be read: that the organisation's own server would refuse. */
function parseServerName(hello: Buffer): string | null {
  // Version and random; session, cipher suites, compression methods.
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

/** What a length of `size` bytes says that follows it; null where there is less. */
function readBlock(bytes: Buffer, size: number): Buffer | null {
  if (bytes.length < size) return null;
  const length = bytes.readUIntBE(0, size);
  return bytes.length < size + length ? null : bytes.subarray(size, size + length);
}

function skipBlock(bytes: Buffer, size: number): Buffer | null {
  const found = readBlock(bytes, size);
  return found && bytes.subarray(size + found.length);
}
