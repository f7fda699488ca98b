import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A browser that is subscribed, with the keys that nobody else has. */
export interface TestBrowser {
  /** Path of its subscription at the service. */
  path: string;
  /** As a device keeps them. */
  clientIdentifier: string;
  decrypt(body: Buffer): string;
}

/** A push message as the service got it: checked, and read by its browser. */
export interface PushedMessage {
  path: string;
  headers: IncomingHttpHeaders;
  bytes: number;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  payload: any;
  /** Claims of the VAPID token. */
  claims: { aud: string; exp: number; sub: string };
  /** The application server's key, base64url. */
  key: string;
}

/** How the service answers. */
export interface PushScriptedResponse {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A push service on loopback. */
export interface TestWebPushServer {
  url(path: string): string;
  readonly pushed: readonly PushedMessage[];
  /** What was wrong with requests. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/** Makes a browser. */
export function makeBrowser(path: string): TestBrowser {
  const own = createECDH("prime256v1");
  const publicKey = own.generateKeys();
  const auth = randomBytes(16);
  return {
    path,
    clientIdentifier: `${publicKey.toString("base64url")}.${auth.toString("base64url")}`,
    /** @source RFC 8188 §2, RFC 8291 §3.4 */
    decrypt(body) {
      const salt = body.subarray(0, 16);
      const recordSize = body.readUInt32BE(16);
      const keyLength = body.readUInt8(20);
      const senderKey = body.subarray(21, 21 + keyLength);
      const sealed = body.subarray(21 + keyLength);
      if (sealed.length > recordSize) throw new Error("more than one record");
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, senderKey]);
      const ikm = Buffer.from(hkdfSync("sha256", own.computeSecret(senderKey), auth, info, 32));
      const key = Buffer.from(hkdfSync("sha256", ikm, salt, "Content-Encoding: aes128gcm\0", 16));
      const nonce = Buffer.from(hkdfSync("sha256", ikm, salt, "Content-Encoding: nonce\0", 12));
      const decipher = createDecipheriv("aes-128-gcm", key, nonce);
      decipher.setAuthTag(sealed.subarray(-16));
      const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
      const end = plain.lastIndexOf(2);
      if (end < 0) throw new Error("no delimiter of a last record");
      return plain.subarray(0, end).toString("utf8");
    },
  };
}

/** Starts a service that is strict about RFC 8030, 8291 and 8292; `answer` rules over what is right. */
export async function openTestWebPushServer(
  browsers: readonly TestBrowser[],
  answer: (pushed: PushedMessage, count: number) => PushScriptedResponse = () => ({ status: 201 }),
): Promise<TestWebPushServer> {
  const pushed: PushedMessage[] = [];
  const faults: string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    try {
      const one = read(request.url ?? "", request.method, request.headers, Buffer.concat(parts), browsers, url(""));
      pushed.push(one);
      const { status, headers, body } = answer(one, pushed.length);
      response.writeHead(status, { location: `${url(one.path)}/message`, ...headers }).end(body ?? "");
    } catch (error) {
      faults.push(String(error));
      response.writeHead(400).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = (path: string): string => `http://127.0.0.1:${port}${path}`;
  return {
    url,
    pushed,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function read(
  path: string,
  method: string | undefined,
  headers: IncomingHttpHeaders,
  body: Buffer,
  browsers: readonly TestBrowser[],
  origin: string,
): PushedMessage {
  const browser = browsers.find((each) => each.path === path);
  if (!browser || method !== "POST") throw new Error("no such subscription");
  if (headers["content-encoding"] !== "aes128gcm") throw new Error("content-encoding");
  if (!/^\d+$/.test(String(headers.ttl))) throw new Error("ttl");
  if (!/^(very-low|low|normal|high)$/.test(String(headers.urgency))) throw new Error("urgency");
  if (!/^[\w-]{1,32}$/.test(String(headers.topic))) throw new Error("topic");
  if (body.length > 4_096) throw new Error("longer than 4096 bytes");
  const { claims, key } = tokenIn(headers.authorization ?? "", origin);
  return { path, headers, bytes: body.length, payload: JSON.parse(browser.decrypt(body)), claims, key };
}

/** @source RFC 8292 §2, §3 */
function tokenIn(authorization: string, origin: string): Pick<PushedMessage, "claims" | "key"> {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  const [head = "", body = "", signature = ""] = token.split(".");
  const point = Buffer.from(key, "base64url");
  if (point.length !== 65) throw new Error("vapid key");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString("base64url"));
  const publicKey = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" } });
  const isSigned = verify(
    "sha256",
    Buffer.from(`${head}.${body}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  if (!isSigned) throw new Error("vapid signature");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as PushedMessage["claims"];
  const now = Date.now() / 1_000;
  if (claims.aud !== origin) throw new Error(`vapid aud ${claims.aud}`);
  if (claims.exp <= now || claims.exp > now + 86_400) throw new Error("vapid exp");
  return { claims, key };
}
